-- The generator of chance.py: every product is exact in a double, so one seed gives one choice on every backend.
local state = 1
local function uniform()
  state = (state * 48271) % 2147483647
  return state / 2147483647
end

local function begin_chance(seed)
  state = seed % 2147483646 + 1
  for _ = 1, 3 do uniform() end
end

local function normal()
  return math.sqrt(-2 * math.log(uniform())) * math.cos(2 * math.pi * uniform())
end

local function gamma(shape)
  local d = shape - 1 / 3
  local c = 1 / math.sqrt(9 * d)
  while true do
    local x = normal()
    local v = (1 + c * x) ^ 3
    if v > 0 and math.log(uniform()) < 0.5 * x * x + d - d * v + d * math.log(v) then return d * v end
  end
end

local function beta(a, b)
  local x = gamma(a)
  return x / (x + gamma(b))
end
