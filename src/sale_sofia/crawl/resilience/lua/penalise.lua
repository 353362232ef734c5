-- uses: now, hash, pace
expect(KEYS[1], 'hash')
local hash = load_pace(KEYS[1])
penalise(hash.fields, ask.retry_after, ask.seen_epoch)
save_hash(hash)
return hash.fields.epoch
