-- uses: now, hash, pace
expect(KEYS[1], 'hash')
local hash = load_pace(KEYS[1])
change_rate(hash.fields, ask.per_minute)
save_hash(hash)
return hash.fields.epoch
