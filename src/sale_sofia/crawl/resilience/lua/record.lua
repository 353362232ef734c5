-- uses: now, hash, window, circuit
expect(KEYS[1], 'hash')
local hash = load_circuit(KEYS[1])
record(hash.fields, ask.given, ask.ok, ask.block)
save_hash(hash)
return flag(hash.fresh)
