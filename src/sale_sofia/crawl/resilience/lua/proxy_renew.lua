-- uses: now, proxy_pool
-- A lease goes on for another while, if it is still its own.
local tier = redis.call('HGET', TIERS, ask.id)
local name = tier and place_of(ask.domain, ask.id, tier)
if not name or belief_of(ask.domain, ask.id)[TOKEN] ~= ask.token then return 0 end
redis.call('ZADD', name, now + rules.lease_seconds, ask.id)
return 1
