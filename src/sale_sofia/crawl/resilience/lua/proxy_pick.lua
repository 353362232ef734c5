-- uses: now, proxy_chance, proxy_pool
-- A proxy for a portal, leased: the session's own, else the best of a draw among the longest rested.
local domain, excluded = ask.domain, {}
for _, id in ipairs(ask.exclude) do excluded[id] = true end
open_domain(domain)

local function orders()
  local found = {}
  for _, tier in ipairs(ask.tiers) do
    found[#found + 1] = { name = proven_key(domain, tier), most = rules.candidates, proven = true }
  end
  for _, tier in ipairs(ask.tiers) do
    found[#found + 1] = { name = idle_key(domain, tier), most = rules.explored }
  end
  return found
end

local function permitted(tier)
  for _, one in ipairs(ask.tiers) do
    if one == tier then return true end
  end
  return false
end

-- The one asked for, or the session's own proxy; or when it will be ready, if that is soon.
local function bound()
  local id = ask.only or (ask.session and redis.call('GET', key('sticky', domain, ask.session)))
  local tier = id and redis.call('HGET', TIERS, id)
  if not tier or not permitted(tier) or excluded[id] then return end
  local name, ready_at = place_of(domain, id, tier)
  if not name then return end
  local everywhere = belief_of(EVERYWHERE, id)
  local wait = math.max(ready_at, everywhere[RESTS_UNTIL]) - now
  if wait <= 0 then return id, name end
  if ask.only then return nil, nil, wait end
  local has_failed = belief_of(domain, id)[FAILURES] > 0 or everywhere[FAILURES] > 0
  if not has_failed and wait <= rules.session_patience_seconds then return nil, nil, wait end
end

local function rested(order)
  return redis.call('ZRANGEBYSCORE', order.name, '-inf', exact(now), 'LIMIT', 0, order.most + #ask.exclude)
end

-- The first few that are ready; those at the front that rest everywhere come up when they have rested.
local function candidates(order)
  while true do
    local ids, moved = rested(order), false
    local everywhere = beliefs_of(EVERYWHERE, ids)
    for _, id in ipairs(ids) do
      if everywhere[id][RESTS_UNTIL] > now then
        redis.call('ZADD', order.name, everywhere[id][RESTS_UNTIL], id)
        moved = true
      end
    end
    if not moved then return ids, everywhere end
  end
end

-- A lot weighted by score, or a chance of success that fits what is known; less for the slow.
local function draw(here, everywhere)
  local drawn, half = nil, rules.latency_half_seconds
  if rules.choice == 'scored' then
    drawn = uniform() ^ (1 / here[SCORE])
  else
    drawn = beta(weights(here, everywhere))
  end
  return drawn * half / (half + math.max(0, everywhere[LATENCY]))
end

-- For a further try the proven alone, if any is ready.
local function best()
  local chosen, place, most, doubtful, proven = nil, nil, -1, false, false
  for _, order in ipairs(orders()) do
    if proven and #ask.exclude > 0 and not order.proven then break end
    local ids, everywhere = candidates(order)
    local here, seen = beliefs_of(domain, ids), 0
    for _, id in ipairs(ids) do
      if not excluded[id] and seen < order.most then
        seen = seen + 1
        local drawn = draw(here[id], everywhere[id])
        if drawn > most then
          chosen, place, most, proven = id, order.name, drawn, order.proven
          doubtful = here[id][FAILURES] > 0 or everywhere[id][FAILURES] > 0
            or (#ask.exclude > 0 and not order.proven)
        end
      end
    end
  end
  return chosen, place, doubtful
end

local function earliest(proven_only)
  local first
  for _, order in ipairs(orders()) do
    local looked = order.proven or not proven_only
    local flat = looked and redis.call('ZRANGE', order.name, 0, #ask.exclude, 'WITHSCORES') or {}
    for i = 1, #flat, 2 do
      local ready_at = tonumber(flat[i + 1])
      if not excluded[flat[i]] and (not first or ready_at < first) then first = ready_at end
    end
  end
  return first
end

-- How long to wait for a proven proxy instead of a doubtful one.
local function better_wait()
  local ready_at = earliest(true)
  local wait = ready_at and ready_at - now
  return wait and wait > 0 and wait <= rules.doubt_patience_seconds and wait
end

begin_chance(ask.seed)
local id, name, wait = bound()
if wait then return { '', exact(wait) } end
if ask.only and not id then return { '', '' } end
if not id then
  local doubtful
  id, name, doubtful = best()
  wait = doubtful and better_wait()
  if wait then return { '', exact(wait) } end
end
if not id then
  local first = earliest()
  return { '', first and exact(math.max(0, first - now)) or '' }
end
redis.call('ZADD', name, now + rules.lease_seconds, id)
local here = belief_of(domain, id)
here[TOKEN] = ask.token
save_belief(domain, id, here)
if ask.session then
  redis.call('SET', key('sticky', domain, ask.session), id, 'PX', math.floor(rules.sticky_seconds * 1000))
end
return { id, redis.call('HGET', KNOWN, id) }
