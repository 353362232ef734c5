-- The results of the last minutes, in buckets, as failure_window.py keeps them.
local function bucket_of(moment)
  return math.floor(moment * rules.breaker.window_buckets / rules.breaker.window_seconds)
end

local function forget_old(circuit)
  local oldest = bucket_of(now) - rules.breaker.window_buckets
  for _, prefix in ipairs({ 'good:', 'bad:' }) do
    for _, name in ipairs(names_with(circuit, prefix)) do
      if tonumber(string.sub(name, #prefix + 1)) <= oldest then circuit[name] = nil end
    end
  end
end

local function count_failure(circuit)
  local goes_on = circuit.last_failure and now - circuit.last_failure <= rules.breaker.window_seconds
  circuit.failures = goes_on and circuit.failures + 1 or 1
  circuit.last_failure = now
end

local function count_result(circuit, ok)
  forget_old(circuit)
  local name = string.format(ok and 'good:%.0f' or 'bad:%.0f', bucket_of(now))
  circuit[name] = (circuit[name] or 0) + 1
  if ok then circuit.failures = 0 else count_failure(circuit) end
end

local function sum_of(circuit, prefix)
  local sum = 0
  for _, name in ipairs(names_with(circuit, prefix)) do sum = sum + circuit[name] end
  return sum
end

local function tripped(circuit)
  local bad = sum_of(circuit, 'bad:')
  local volume = bad + sum_of(circuit, 'good:')
  local too_many = volume >= rules.breaker.min_volume and bad / math.max(1, volume) >= rules.breaker.failure_rate
  return too_many or circuit.failures >= rules.breaker.fail_max
end
