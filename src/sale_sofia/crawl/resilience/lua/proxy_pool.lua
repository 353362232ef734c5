-- The pool: what is known (JSON), its tiers, who is out, and for each portal beliefs and two orders of each tier.
-- All keys have one hash tag, so that a script may make their names itself.
local POOL = KEYS[1]
local EVERYWHERE = '*'
local ALL_TIERS = { 'own', 'free', 'paid' }

local function key(...)
  return POOL .. ':' .. table.concat({ ... }, ':')
end

local KNOWN, TIERS, OUT, DOMAINS = key('known'), key('tiers'), key('out'), key('domains')
expect(KNOWN, 'hash')
expect(TIERS, 'hash')

local function proven_key(domain, tier) return key('proven', domain, tier) end
local function idle_key(domain, tier) return key('idle', domain, tier) end
local function beliefs_key(domain) return key('beliefs', domain) end

local function keep(name)
  redis.call('PEXPIRE', name, rules.ttl_ms)
end

local function keep_domain(domain)
  for _, name in ipairs({ KNOWN, TIERS, OUT, DOMAINS, beliefs_key(EVERYWHERE), beliefs_key(domain) }) do keep(name) end
  for _, tier in ipairs(ALL_TIERS) do
    keep(proven_key(domain, tier))
    keep(idle_key(domain, tier))
  end
end

-- A belief is packed as nine doubles and two texts: numbers keep all their digits, and reading one is quick. It is
-- also longer than what Redis keeps in a mere list, where each look at a hash would pass through all of it.
local GOOD, BAD, FAILURES, LATENCY, RESTS_UNTIL, SCORE = 1, 2, 3, 4, 5, 6
local USES, SUCCESSES, MISSED, WHY, TOKEN = 7, 8, 9, 10, 11
local LAYOUT = '<dddddddddss'
-- Up to SCORE: all that a choice among many looks at.
local FIRST_SIX = '<dddddd'

local function unpacked(packed, layout)
  if packed then return { struct.unpack(layout or LAYOUT, packed) } end
  return { 0, 0, 0, -1, 0, 1, 0, 0, 0, '', '' }
end

-- A text ends where a zero stands.
local function plain(text)
  return (string.gsub(text, '%z', ' '))
end

local function belief_of(domain, id)
  return unpacked(redis.call('HGET', beliefs_key(domain), id))
end

-- Only to be looked at, never to be saved.
local function beliefs_of(domain, ids)
  local found = {}
  if #ids == 0 then return found end
  local packed = redis.call('HMGET', beliefs_key(domain), unpack(ids))
  for i, id in ipairs(ids) do found[id] = unpacked(packed[i], FIRST_SIX) end
  return found
end

local function save_belief(domain, id, belief)
  redis.call('HSET', beliefs_key(domain), id, struct.pack(LAYOUT, unpack(belief, 1, TOKEN)))
end

local function weights(here, everywhere)
  return 1 + here[GOOD] + rules.elsewhere * everywhere[GOOD], 1 + here[BAD] + rules.elsewhere * everywhere[BAD]
end

local function expected(here, everywhere)
  local good, bad = weights(here, everywhere)
  return good / (good + bad)
end

local function cooldown(failures, first, most)
  return math.min(most, first * 2 ^ math.min(failures - 1, 60))
end

-- Where a proxy stands: the key of its order and when it is ready there; nil where it is not handed out.
local function place_of(domain, id, tier)
  for _, name in ipairs({ proven_key(domain, tier), idle_key(domain, tier) }) do
    local ready_at = redis.call('ZSCORE', name, id)
    if ready_at then return name, tonumber(ready_at) end
  end
end

local function drop(domain, id)
  for _, tier in ipairs(ALL_TIERS) do
    redis.call('ZREM', proven_key(domain, tier), id)
    redis.call('ZREM', idle_key(domain, tier), id)
  end
end

local function open_domain(domain)
  if redis.call('SADD', DOMAINS, domain) == 0 then return end
  local flat = redis.call('HGETALL', TIERS)
  for i = 1, #flat, 2 do
    if redis.call('SISMEMBER', OUT, flat[i]) == 0 then
      redis.call('ZADD', idle_key(domain, flat[i + 1]), 0, flat[i])
    end
  end
end

local function decay(belief)
  belief[GOOD] = belief[GOOD] * rules.decay
  belief[BAD] = belief[BAD] * rules.decay
end

local function succeeded(belief, seconds)
  decay(belief)
  belief[GOOD] = belief[GOOD] + 1
  belief[FAILURES], belief[RESTS_UNTIL] = 0, 0
  belief[SUCCESSES] = belief[SUCCESSES] + 1
  belief[SCORE] = math.min(rules.score_most, belief[SCORE] * rules.score_up)
  if seconds then
    local weight = belief[LATENCY] == -1 and 1 or rules.latency_weight
    belief[LATENCY] = belief[LATENCY] + weight * (seconds - belief[LATENCY])
  end
end

local function failed(belief, why)
  decay(belief)
  belief[GOOD] = belief[GOOD] * rules.failure_decay
  belief[BAD] = belief[BAD] + 1
  belief[FAILURES] = belief[FAILURES] + 1
  belief[SCORE] = math.max(rules.score_least, belief[SCORE] * rules.score_down)
  belief[WHY] = plain(why)
end

-- How long it rests on the portal, and whether it has proven itself there (nil: as before); see learning.py.
local function learn(use, here, everywhere)
  if use.kind ~= 'neutral' then
    here[USES], everywhere[USES] = here[USES] + 1, everywhere[USES] + 1
  end
  local longer = 1 + rules.jitter * ask.chance
  local asked = math.min(use.retry_after, rules.retry_after_max_seconds)
  if use.kind == 'ok' then
    succeeded(here, use.seconds)
    succeeded(everywhere, use.seconds)
    return rules.spacing_seconds, true
  elseif use.kind == 'blocked' then
    failed(here, use.why)
    local rest = cooldown(here[FAILURES], rules.block_seconds, rules.block_max_seconds)
    return math.max(asked, rest * longer), false
  elseif use.kind == 'transport' then
    failed(here, use.why)
    failed(everywhere, use.why)
    local rest = cooldown(everywhere[FAILURES], rules.transport_seconds, rules.transport_max_seconds)
    return rest * longer, false
  elseif use.kind == 'rate_limited' then
    return math.max(asked, rules.spacing_seconds)
  end
  return rules.spacing_seconds
end

local function learn_from(use, domain, id, here, at_least)
  local everywhere = belief_of(EVERYWHERE, id)
  local rest, proven = learn(use, here, everywhere)
  if use.kind == 'transport' then everywhere[RESTS_UNTIL] = now + rest end
  save_belief(domain, id, here)
  save_belief(EVERYWHERE, id, everywhere)
  local tier = redis.call('HGET', TIERS, id)
  local name = tier and place_of(domain, id, tier)
  if not name then return end
  if proven ~= nil then
    redis.call('ZREM', name, id)
    name = proven and proven_key(domain, tier) or idle_key(domain, tier)
  end
  redis.call('ZADD', name, math.max(at_least, now + rest), id)
end
