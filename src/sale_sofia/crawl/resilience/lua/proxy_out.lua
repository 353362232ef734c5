-- uses: now, proxy_pool
-- Taken out: `missed` in a check, `quarantine`d, or `remove`d. How many were forgotten.
local function forget(id)
  local known = redis.call('HDEL', KNOWN, id)
  redis.call('HDEL', TIERS, id)
  redis.call('SREM', OUT, id)
  redis.call('HDEL', beliefs_key(EVERYWHERE), id)
  for _, domain in ipairs(redis.call('SMEMBERS', DOMAINS)) do
    drop(domain, id)
    redis.call('HDEL', beliefs_key(domain), id)
  end
  return known
end

local function quarantine(id)
  local everywhere = belief_of(EVERYWHERE, id)
  everywhere[WHY] = plain(ask.why)
  save_belief(EVERYWHERE, id, everywhere)
  redis.call('SADD', OUT, id)
  for _, domain in ipairs(redis.call('SMEMBERS', DOMAINS)) do drop(domain, id) end
  return 0
end

local function missed(id)
  local everywhere = belief_of(EVERYWHERE, id)
  failed(everywhere, ask.why)
  everywhere[MISSED] = everywhere[MISSED] + 1
  everywhere[RESTS_UNTIL] = now + cooldown(everywhere[FAILURES], rules.transport_seconds, rules.transport_max_seconds)
  save_belief(EVERYWHERE, id, everywhere)
  return everywhere[MISSED] >= rules.missed_sweeps and forget(id) or 0
end

local how, count = { remove = forget, quarantine = quarantine, missed = missed }, 0
for _, id in ipairs(ask.ids) do
  if redis.call('HEXISTS', KNOWN, id) == 1 then count = count + how[ask.how](id) end
end
return count
