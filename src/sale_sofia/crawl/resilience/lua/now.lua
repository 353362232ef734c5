-- The arguments of every script, and the one clock: the server's. Only tests say what time it is.
local rules = cjson.decode(ARGV[2])
local ask = cjson.decode(ARGV[3])
local now = tonumber(ARGV[1])
if not now then
  local time = redis.call('TIME')
  now = tonumber(time[1]) + tonumber(time[2]) / 1000000
end

-- A number in a reply keeps all its digits only as text.
local function exact(number)
  return string.format('%.17g', number)
end

local function flag(truth)
  return truth and 1 or 0
end

-- Asked of every key before anything is written: an error in the middle would leave half of a change.
local function expect(key, kind)
  local found = redis.call('TYPE', key).ok
  if found ~= 'none' and found ~= kind then
    error({ err = 'FOREIGN ' .. key .. ' holds a ' .. found .. ' where a ' .. kind .. ' belongs;' })
  end
end
