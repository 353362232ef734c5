-- Who asked for the domain lately, so that each knows its share should the server be gone.
local function count_askers()
  redis.call('ZADD', ASKERS, now + rules.asker_seconds, ask.asker)
  redis.call('ZREMRANGEBYSCORE', ASKERS, '-inf', now)
  redis.call('PEXPIRE', ASKERS, rules.ttl_ms)
  return redis.call('ZCARD', ASKERS)
end
