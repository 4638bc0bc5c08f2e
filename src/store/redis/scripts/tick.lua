-- What waits for a time, and whether something differs. Reads only. KEYS: stream, due, conf.
-- ARGV: group, max. Answers [now, due ids, next due or nil, due rows, parked, group there (0|1),
-- groups, retention or nil].
local stream, due, conf = KEYS[1], KEYS[2], KEYS[3]
local group, max = ARGV[1], tonumber(ARGV[2])
local time = redis.call('TIME')
local now = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))

local function failed(reply) return type(reply) == 'table' and reply.err ~= nil end

local groups, there = 0, 0
local known = redis.pcall('XINFO', 'GROUPS', stream)
if failed(known) then
  if string.sub(known.err, 1, 9) == 'WRONGTYPE' then return known end
else
  groups = #known
  for _, row in ipairs(known) do
    if row[2] == group then there = 1 end
  end
end

local ids, next_due, due_rows = {}, false, redis.pcall('ZCARD', due)
if failed(due_rows) then
  due_rows = 0
elseif due_rows > 0 then
  if max > 0 then ids = redis.call('ZRANGEBYSCORE', due, '-inf', now, 'LIMIT', 0, max) end
  local after = redis.call('ZRANGE', due, #ids, #ids, 'WITHSCORES')
  if after[2] then next_due = string.format('%.0f', tonumber(after[2])) end
end

local parked = '0'
if there == 1 then
  local summary = redis.pcall('XPENDING', stream, group)
  if not failed(summary) and summary[4] then
    for _, row in ipairs(summary[4]) do
      if row[1] == 'penstock:parked' then parked = row[2] end
    end
  end
end

local retention = redis.pcall('HGET', conf, 'retention')
if failed(retention) then retention = false end
return {now, ids, next_due, due_rows, parked, there, groups, retention}
