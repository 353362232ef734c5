-- One domain's circuit, as circuit.py describes it. A probe is a field: its token, and when its lease ends.
local PROBE = 'probe:'

local function enter_state(circuit, state)
  circuit.state = state
  circuit.generation = circuit.generation + 1
  circuit.probe_successes = 0
  drop(circuit, PROBE)
end

local function close_circuit(circuit)
  circuit.opened_at, circuit.last_failure = nil, nil
  circuit.failures = 0
  circuit.open_seconds = rules.breaker.reset_timeout_seconds
  drop(circuit, 'good:')
  drop(circuit, 'bad:')
  enter_state(circuit, 'CLOSED')
end

local function open_circuit(circuit)
  circuit.opened_at = now
  enter_state(circuit, 'OPEN')
end

local function move_circuit_back(circuit, seconds)
  move_back(circuit, 'opened_at', seconds)
  move_back(circuit, 'last_failure', seconds)
  for _, name in ipairs(names_with(circuit, PROBE)) do move_back(circuit, name, seconds) end
  drop(circuit, 'good:')
  drop(circuit, 'bad:')
end

local function load_circuit(key)
  local hash = open_hash(key)
  local back = stepped_back(hash)
  if back > 0 then move_circuit_back(hash.fields, back) end
  if hash.fields.generation == nil then
    hash.fields.generation, hash.fields.allowed, hash.fields.refused = 0, 0, 0
    close_circuit(hash.fields)
  end
  return hash
end

local function open_wait(circuit)
  return circuit.open_seconds - (now - (circuit.opened_at or 0))
end

local function advance(circuit)
  if circuit.state == 'OPEN' and open_wait(circuit) <= 0 then enter_state(circuit, 'HALF_OPEN') end
  -- Processes with other settings may have wanted more probes: no further one would ever be given.
  local enough = circuit.probe_successes >= rules.breaker.half_open_calls
  if circuit.state == 'HALF_OPEN' and enough then close_circuit(circuit) end
  for _, name in ipairs(names_with(circuit, PROBE)) do
    if circuit[name] <= now then circuit[name] = nil end
  end
end

local function probe_wait(circuit)
  local probes = names_with(circuit, PROBE)
  if #probes + circuit.probe_successes < rules.breaker.half_open_calls then return 0 end
  local wait = rules.breaker.probe_busy_seconds
  for _, name in ipairs(probes) do wait = math.min(wait, circuit[name] - now) end
  return wait
end

local function wait_of(circuit)
  if circuit.state == 'CLOSED' then return 0 end
  return circuit.state == 'OPEN' and open_wait(circuit) or probe_wait(circuit)
end

local function permission(circuit, allowed, wait, token)
  local probe = token ~= nil
  return { allowed = allowed, wait = wait, generation = circuit.generation, probe = probe, token = token or '' }
end

local function permit(circuit, token)
  if circuit.state == 'CLOSED' then return permission(circuit, true, 0) end
  token = token or string.format('%.0f-%.0f', circuit.generation, circuit.allowed)
  circuit[PROBE .. token] = now + rules.breaker.probe_lease_seconds
  return permission(circuit, true, 0, token)
end

local function allow(circuit, token)
  advance(circuit)
  if token and circuit[PROBE .. token] then return permission(circuit, true, 0, token) end
  local wait = wait_of(circuit)
  if wait > 0 then
    circuit.refused = circuit.refused + 1
    return permission(circuit, false, wait)
  end
  circuit.allowed = circuit.allowed + 1
  return permit(circuit, token)
end

local function counts(circuit, given)
  if not given.allowed or given.generation ~= circuit.generation then return false end
  return not given.probe or (circuit[PROBE .. given.token] or now) > now
end

local function confirm(circuit, given, token)
  if not counts(circuit, given) then return allow(circuit, token) end
  return permission(circuit, true, 0, given.probe and given.token or nil)
end

local function longer(circuit)
  local longest = math.max(rules.breaker.reset_max_seconds, rules.breaker.reset_timeout_seconds)
  local jitter = 1 + rules.breaker.reset_jitter * ask.chance
  return math.min(longest, circuit.open_seconds * rules.breaker.reset_step * jitter)
end

local function record_probe(circuit, ok)
  if not ok then
    circuit.open_seconds = longer(circuit)
    return open_circuit(circuit)
  end
  circuit.probe_successes = circuit.probe_successes + 1
  if circuit.probe_successes >= rules.breaker.half_open_calls then close_circuit(circuit) end
end

local function record(circuit, given, ok, block)
  if not counts(circuit, given) then return end
  if not ok then circuit.last_block = block or circuit.last_block end
  if given.probe then
    circuit[PROBE .. given.token] = nil
    return record_probe(circuit, ok)
  end
  count_result(circuit, ok)
  if not ok and tripped(circuit) then open_circuit(circuit) end
end

local function cancel(circuit, given)
  if given.generation == circuit.generation then circuit[PROBE .. given.token] = nil end
end

local function renew_probe(circuit, token)
  local living = (circuit[PROBE .. token] or now) > now
  if living then circuit[PROBE .. token] = now + rules.breaker.probe_lease_seconds end
  return living
end
