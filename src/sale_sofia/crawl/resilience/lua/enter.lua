-- uses: now, places
expect(KEYS[1], 'zset')
return flag(enter_place(KEYS[1], ask.token, ask.limit))
