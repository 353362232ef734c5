-- The places of a domain: a sorted set of tokens by the end of their lease.
local function forget_ended(key)
  redis.call('ZREMRANGEBYSCORE', key, '-inf', now)
  -- No lease is longer than a lease: one that seems to be was given before the clock was set back.
  local latest = now + rules.lease_seconds
  for _, token in ipairs(redis.call('ZRANGEBYSCORE', key, '(' .. exact(latest), '+inf')) do
    redis.call('ZADD', key, latest, token)
  end
end

local function hold_place(key, token)
  redis.call('ZADD', key, now + rules.lease_seconds, token)
  redis.call('PEXPIRE', key, rules.ttl_ms)
end

local function enter_place(key, token, limit)
  forget_ended(key)
  local free = redis.call('ZSCORE', key, token) or redis.call('ZCARD', key) < limit
  if free then hold_place(key, token) end
  return free and true
end

local function renew_place(key, token)
  local ends = redis.call('ZSCORE', key, token)
  local living = ends and tonumber(ends) > now
  if living then hold_place(key, token) end
  return living
end

local function leave_place(key, token)
  return redis.call('ZREM', key, token) == 1
end
