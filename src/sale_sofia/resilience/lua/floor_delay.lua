-- uses: now, hash, pace
expect(KEYS[1], 'hash')
local hash = load_pace(KEYS[1])
keep_apart(hash.fields, ask.seconds)
save_hash(hash)
return hash.fields.epoch
