-- uses: now, hash, window, circuit
expect(KEYS[1], 'hash')
local hash = load_circuit(KEYS[1])
cancel(hash.fields, ask.given)
save_hash(hash)
return flag(hash.fresh)
