-- uses: now, hash, window, circuit, pace, places, gate
-- After a wait: is the place still ours, the epoch the same, the circuit not open? Refused holds nothing.
local function still()
  if not renew_place(PLACES, ask.token) then return ask.given, rules.busy_seconds, 'busy' end
  if pace.fields.epoch ~= ask.epoch then return ask.given, next_at(pace.fields) - now, 'penalty' end
  local given = confirm(circuit.fields, ask.given, ask.token)
  if not given.allowed then return given, given.wait, 'circuit_open' end
  return given, 0, ''
end

local given, wait, why = still()
if why ~= '' then
  leave_place(PLACES, ask.token)
  cancel(circuit.fields, ask.given)
end
save_both()
return verdict(given, wait, why)
