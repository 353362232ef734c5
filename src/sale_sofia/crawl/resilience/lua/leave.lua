-- uses: now, places
expect(KEYS[1], 'zset')
return flag(leave_place(KEYS[1], ask.token))
