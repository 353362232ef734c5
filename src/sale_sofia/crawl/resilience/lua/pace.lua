-- One domain's pace, as pace.py describes it. What is missing was never, or lies before all time.
local NEVER = -math.huge

local function load_pace(key)
  local hash = open_hash(key)
  local back = stepped_back(hash)
  for _, name in ipairs({ 'full_at', 'last', 'not_before' }) do
    if back > 0 then move_back(hash.fields, name, back) end
  end
  hash.fields.epoch = hash.fields.epoch or 0
  return hash
end

local function rate_of(pace)
  local rate = pace.rate or ask.rate
  -- Whatever rate was set for all, a portal's Crawl-delay is its floor.
  return ask.delay and math.min(rate, 60 / ask.delay) or rate
end

local function slow_of(pace)
  return pace.slow or 1
end

local function interval_of(pace)
  return 60 / rate_of(pace) * slow_of(pace)
end

local function tolerance_of(pace)
  return (rules.limiter.burst - 1) * interval_of(pace)
end

local function next_at(pace)
  local full = pace.full_at or NEVER
  -- Who set the rate may not have known of the delay.
  if ask.delay and pace.last then full = math.max(full, pace.last + ask.delay) end
  return math.max(now, full - tolerance_of(pace), pace.not_before or NEVER)
end

local function reserve(pace, max_wait)
  local instant = next_at(pace)
  local granted = instant - now <= max_wait
  if granted then
    pace.full_at = math.max(pace.full_at or NEVER, instant) + interval_of(pace)
    pace.last = instant
  end
  return granted, instant - now
end

local function pause_of(retry_after)
  local asked = retry_after or rules.limiter.penalty_seconds
  return asked > 0 and math.min(asked, rules.limiter.retry_after_max_seconds) or 0
end

local function penalise(pace, retry_after, seen_epoch)
  if seen_epoch == nil or seen_epoch == pace.epoch then
    pace.slow = math.min(rules.limiter.slow_max, slow_of(pace) * rules.limiter.slow_step)
  end
  pace.epoch = pace.epoch + 1
  pace.successes = 0
  local pause = math.max(pause_of(retry_after), interval_of(pace))
  pace.not_before = math.max(pace.not_before or NEVER, now + pause)
  pace.full_at = pace.not_before + tolerance_of(pace)
  if pace.last then pace.last = math.min(pace.last, now) end
end

local function succeeded(pace)
  if now < (pace.not_before or NEVER) or slow_of(pace) <= 1 then return end
  pace.successes = (pace.successes or 0) + 1
  if pace.successes >= rules.limiter.recovery_successes then
    pace.successes = 0
    pace.slow = math.max(1, slow_of(pace) * rules.limiter.recovery_factor)
  end
end

local function change_rate(pace, rate)
  local before = interval_of(pace)
  pace.rate = rate
  if pace.last then
    -- Requests use up no more than the burst: what lies beyond is a pause, which no rate stretches.
    local used = math.min(rules.limiter.burst, (pace.full_at - pace.last) / before)
    pace.full_at = pace.last + used * interval_of(pace)
  end
  local full = math.max(pace.full_at or NEVER, (pace.not_before or NEVER) + tolerance_of(pace))
  if full > NEVER then pace.full_at = full end
end
