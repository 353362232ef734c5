-- uses: now, hash, window, circuit
expect(KEYS[1], 'hash')
local hash = load_circuit(KEYS[1])
local living = renew_probe(hash.fields, ask.token)
save_hash(hash)
return { flag(living), flag(hash.fresh) }
