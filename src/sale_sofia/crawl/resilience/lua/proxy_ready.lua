-- uses: now, proxy_pool
-- How many could be used for the portal soon, with a fair chance; looked at in pieces that fit on Lua's stack.
open_domain(ask.domain)
keep_domain(ask.domain)
local soon, count, PIECE = now + rules.ready_within_seconds, 0, 1000

local function count_piece(ids)
  local here, everywhere = beliefs_of(ask.domain, ids), beliefs_of(EVERYWHERE, ids)
  for _, id in ipairs(ids) do
    if everywhere[id][RESTS_UNTIL] <= soon and expected(here[id], everywhere[id]) > rules.ready_above then
      count = count + 1
    end
  end
end

for _, tier in ipairs(ALL_TIERS) do
  for _, name in ipairs({ proven_key(ask.domain, tier), idle_key(ask.domain, tier) }) do
    local first = 0
    repeat
      local ids = redis.call('ZRANGEBYSCORE', name, '-inf', exact(soon), 'LIMIT', first, PIECE)
      count_piece(ids)
      first = first + PIECE
    until #ids < PIECE
  end
end
return count
