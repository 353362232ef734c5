-- uses: now, hash, window, circuit, pace, places, gate, askers
-- Breaker, then bulkhead, then limiter. A refused request holds and reserves nothing.
local function give_back(token)
  leave_place(PLACES, token)
  circuit.fields[PROBE .. token] = nil
end

-- First of all writes: a full server refuses it, but none that comes after one which only takes away.
local askers = count_askers()

-- Earlier requests of this caller whose end it could not tell.
for _, token in ipairs(ask.lost) do give_back(token) end

local function admitted()
  local given = allow(circuit.fields, ask.token)
  if not given.allowed then return verdict(given, given.wait, 'circuit_open') end
  if not enter_place(PLACES, ask.token, ask.limit) then
    give_back(ask.token)
    return verdict(given, rules.busy_seconds, 'busy')
  end
  local granted, wait = reserve(pace.fields, ask.max_wait)
  if granted then return verdict(given, wait, '') end
  give_back(ask.token)
  return verdict(given, wait, 'rate_limit')
end

local reply = admitted()
save_both()
reply[#reply + 1] = askers
reply[#reply + 1] = exact(rate_of(pace.fields))
return reply
