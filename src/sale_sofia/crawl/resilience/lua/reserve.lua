-- uses: now, hash, pace
expect(KEYS[1], 'hash')
local hash = load_pace(KEYS[1])
local granted, wait = reserve(hash.fields, ask.max_wait)
save_hash(hash)
return { flag(granted), exact(wait), hash.fields.epoch }
