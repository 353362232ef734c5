-- uses: now, hash, pace
expect(KEYS[1], 'hash')
return exact(next_at(load_pace(KEYS[1]).fields) - now)
