-- A domain's circuit, places and pace together, and who asks for it.
local CIRCUIT, PLACES, PACE, ASKERS = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
expect(CIRCUIT, 'hash')
expect(PLACES, 'zset')
expect(PACE, 'hash')
expect(ASKERS, 'zset')
local circuit, pace = load_circuit(CIRCUIT), load_pace(PACE)

local function save_both()
  save_hash(circuit)
  save_hash(pace)
end

local function verdict(given, wait, why)
  local admitted = why == ''
  return {
    flag(admitted), exact(wait), why, pace.fields.epoch, given.generation, flag(given.probe), flag(circuit.fresh),
  }
end
