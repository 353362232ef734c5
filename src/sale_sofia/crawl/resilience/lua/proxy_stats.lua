-- uses: now, proxy_pool
-- How some proxies do on a portal; on `*`, everywhere. Numbers are text, to keep their digits.
if ask.domain ~= EVERYWHERE then open_domain(ask.domain) end
local rows, empty = {}, unpacked(nil)
for _, id in ipairs(ask.ids) do
  local everywhere = belief_of(EVERYWHERE, id)
  local here = ask.domain == EVERYWHERE and everywhere or belief_of(ask.domain, id)
  local own = ask.domain == EVERYWHERE and empty or here
  local tier = redis.call('HGET', TIERS, id)
  local _, ready_at = place_of(ask.domain, id, tier or 'free')
  ready_at = ready_at or 0
  rows[#rows + 1] = {
    exact(expected(own, everywhere)), exact(here[SCORE]), here[USES], here[SUCCESSES], here[FAILURES],
    exact(here[LATENCY]), exact(math.max(0, math.max(ready_at, everywhere[RESTS_UNTIL]) - now)),
    here[WHY] ~= '' and here[WHY] or everywhere[WHY], flag(here[TOKEN] ~= '' and ready_at > now),
    redis.call('SISMEMBER', OUT, id),
  }
end
return rows
