-- uses: now, proxy_pool
-- A proxy that was found alive is available at once, for every portal.
local new = redis.call('HSET', KNOWN, ask.id, ask.record)
local before = redis.call('HGET', TIERS, ask.id)
redis.call('HSET', TIERS, ask.id, ask.tier)
redis.call('SREM', OUT, ask.id)
local everywhere = belief_of(EVERYWHERE, ask.id)
decay(everywhere)
everywhere[GOOD] = everywhere[GOOD] + 1
everywhere[FAILURES], everywhere[MISSED], everywhere[RESTS_UNTIL], everywhere[WHY] = 0, 0, 0, ''
save_belief(EVERYWHERE, ask.id, everywhere)
for _, domain in ipairs(redis.call('SMEMBERS', DOMAINS)) do
  -- A lease or a rest that it has goes on.
  local _, ready_at = place_of(domain, ask.id, before or ask.tier)
  if before and before ~= ask.tier then drop(domain, ask.id) end
  if not place_of(domain, ask.id, ask.tier) then
    redis.call('ZADD', idle_key(domain, ask.tier), ready_at or 0, ask.id)
  end
  keep_domain(domain)
end
for _, name in ipairs({ KNOWN, TIERS, OUT, DOMAINS, beliefs_key(EVERYWHERE) }) do keep(name) end
return new
