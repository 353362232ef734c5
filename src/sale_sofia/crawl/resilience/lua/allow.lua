-- uses: now, hash, window, circuit, permission
expect(KEYS[1], 'hash')
local hash = load_circuit(KEYS[1])
local given = allow(hash.fields, ask.token)
save_hash(hash)
return permission_reply(hash, given)
