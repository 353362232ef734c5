-- uses: now, proxy_pool
-- The end of a lease, or what was learned without one. A report counts while its lease is its own.
open_domain(ask.domain)
local here = belief_of(ask.domain, ask.id)
local at_least = 0
if ask.token then
  if here[TOKEN] ~= ask.token then return 0 end
  here[TOKEN] = ''
else
  local tier = redis.call('HGET', TIERS, ask.id)
  if not tier then return 0 end
  local _, ready_at = place_of(ask.domain, ask.id, tier)
  at_least = ready_at or 0
end
learn_from(ask.use, ask.domain, ask.id, here, at_least)
if ask.session and (ask.use.kind == 'blocked' or ask.use.kind == 'transport') then
  redis.call('DEL', key('sticky', ask.domain, ask.session))
end
-- Lives are long and renewed by every check too; now and then is enough.
if ask.chance < rules.keep_share then keep_domain(ask.domain) end
return 1
