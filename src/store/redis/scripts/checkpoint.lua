-- Notes where a lost group would go on (docs/wire.md): all up to there is settled. Not where acked
-- entries are deleted: there it goes on at 0. KEYS: stream, conf. ARGV: group.
-- Answers 1 where it was written.
local stream, conf, group = KEYS[1], KEYS[2], ARGV[1]
local retention = redis.pcall('HGET', conf, 'retention')
if retention ~= 'keep' and retention ~= 'trim_settled' then return 0 end

local function decrement(digits)
  local head, digit, zeros = string.match(digits, '^(%d*)([1-9])(0*)$')
  if not head then return nil end
  local less = head .. (tonumber(digit) - 1) .. string.rep('9', #zeros)
  less = string.gsub(less, '^0+', '')
  return less == '' and '0' or less
end

local function before(id)
  local ms, seq = string.match(id, '^(%d+)-(%d+)$')
  local less = decrement(seq)
  if less then return ms .. '-' .. less end
  less = decrement(ms)
  return less and less .. '-18446744073709551615' or '0-0'
end

local function not_above(a, b) -- ids by value, as text
  local a_ms, a_seq = string.match(a, '^(%d+)-(%d+)$')
  local b_ms, b_seq = string.match(b, '^(%d+)-(%d+)$')
  if a_ms == b_ms then a_ms, b_ms = a_seq, b_seq end
  if #a_ms ~= #b_ms then return #a_ms < #b_ms end
  return a_ms <= b_ms
end

local info = redis.call('XINFO', 'STREAM', stream)
local seen = {}
for i = 1, #info, 2 do seen[info[i]] = info[i + 1] end
local at
for _, raw in ipairs(redis.call('XINFO', 'GROUPS', stream)) do
  local g = {}
  for i = 1, #raw, 2 do g[raw[i]] = raw[i + 1] end
  if g['name'] == group then at = g['last-delivered-id'] end
end
if not at or not seen['entries-added'] then return 0 end
local lowest = redis.call('XPENDING', stream, group)[2]
if lowest and not_above(lowest, at) then at = before(lowest) end
local added = string.format('%.0f', seen['entries-added'])
local row = at .. ' ' .. seen['last-generated-id'] .. ' ' .. added
redis.call('HSET', conf, 'checkpoint:' .. group, row)
return 1
