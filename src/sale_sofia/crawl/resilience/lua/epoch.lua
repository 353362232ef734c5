-- uses: now
expect(KEYS[1], 'hash')
return tonumber(redis.call('HGET', KEYS[1], 'epoch') or 0)
