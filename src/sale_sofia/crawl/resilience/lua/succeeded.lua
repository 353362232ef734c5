-- uses: now, hash, pace
expect(KEYS[1], 'hash')
local hash = load_pace(KEYS[1])
succeeded(hash.fields)
save_hash(hash)
return hash.fields.epoch
