-- A hash that is read once and written once: only what changed is sent, and its life begins anew.
local function open_hash(key)
  local hash = { key = key, fields = {}, before = {} }
  local flat = redis.call('HGETALL', key)
  for i = 1, #flat, 2 do
    local value = tonumber(flat[i + 1]) or flat[i + 1]
    hash.fields[flat[i]], hash.before[flat[i]] = value, value
  end
  hash.fresh = #flat == 0
  return hash
end

local function save_hash(hash)
  local put, gone = {}, {}
  for name, value in pairs(hash.fields) do
    if hash.before[name] ~= value then
      put[#put + 1], put[#put + 2] = name, value
    end
  end
  for name in pairs(hash.before) do
    if hash.fields[name] == nil then gone[#gone + 1] = name end
  end
  if #put + #gone == 0 then return end
  if #gone > 0 then redis.call('HDEL', hash.key, unpack(gone)) end
  redis.call('HSET', hash.key, 'seen', now, unpack(put))
  redis.call('PEXPIRE', hash.key, rules.ttl_ms)
end

-- How far the server's clock was set back since the hash was last written; 0 for the usual trembling.
local function stepped_back(hash)
  local back = (hash.fields.seen or now) - now
  return back > rules.clock_step_seconds and back or 0
end

local function names_with(fields, prefix)
  local found = {}
  for name in pairs(fields) do
    if string.sub(name, 1, #prefix) == prefix then found[#found + 1] = name end
  end
  return found
end

local function drop(fields, prefix)
  for _, name in ipairs(names_with(fields, prefix)) do fields[name] = nil end
end

local function move_back(fields, name, seconds)
  if fields[name] then fields[name] = fields[name] - seconds end
end
