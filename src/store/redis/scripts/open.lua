-- Makes stream and group, decides the retention where nobody has. KEYS: stream, conf.
-- ARGV: group, start, retention asked for or '', make the group (0|1), heal (0|1).
-- Answers [retention, decided now, stream existed, group made, waiting, groups, epoch].
local stream, conf = KEYS[1], KEYS[2]
local group, start, asked = ARGV[1], ARGV[2], ARGV[3]
local make, heal = ARGV[4] == '1', ARGV[5] == '1'
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local function text(number) return string.format('%.0f', number) end

local function not_below(a, b) -- decimal numbers of up to 64 bits, as text
  if #a ~= #b then return #a > #b end
  return a >= b
end

local function id_not_below(a, b)
  local a_ms, a_seq = string.match(a, '^(%d+)-(%d+)$')
  local b_ms, b_seq = string.match(b, '^(%d+)-(%d+)$')
  if not a_ms or not b_ms then return false end
  if a_ms ~= b_ms then return not_below(a_ms, b_ms) end
  return not_below(a_seq, b_seq)
end

-- Where a lost group goes on: what sweeps stored, if this still is the stream they saw.
local function healing_start(retention)
  local kept = redis.call('HGET', conf, 'checkpoint:' .. group)
  if retention == 'delete_on_ack' or not kept then return '0' end
  local at, last, added = string.match(kept, '^(%S+) (%S+) (%d+)$')
  if not at then return '0' end
  local info, seen = redis.call('XINFO', 'STREAM', stream), {}
  for i = 1, #info, 2 do seen[info[i]] = info[i + 1] end
  if not id_not_below(seen['last-generated-id'], last)
      or not seen['entries-added'] or seen['entries-added'] < tonumber(added) then return '0' end
  return at
end

-- Entries after `from`: exact from the start, else counted up to a bound.
local function count_after(from)
  if from == '$' then return 0 end
  if from == '0' or from == '0-0' then return redis.call('XLEN', stream) end
  local count, bytes = 0, 0
  repeat
    local page = redis.call('XRANGE', stream, '(' .. from, '+', 'COUNT', 100)
    for _, entry in ipairs(page) do
      for _, value in ipairs(entry[2]) do bytes = bytes + #value end
    end
    count = count + #page
    if #page > 0 then from = page[#page][1] end
  until #page < 100 or count >= 10000 or bytes > 8 * 1024 * 1024
  return count
end

local kind = redis.call('TYPE', stream).ok
if kind ~= 'none' and kind ~= 'stream' then
  return redis.error_reply('WRONGTYPE the key of the stream holds a ' .. kind)
end
local existed = kind == 'stream'
local groups, there, others = 0, false, 0
if existed then
  for _, row in ipairs(redis.call('XINFO', 'GROUPS', stream)) do
    groups = groups + 1
    if make and row[2] == group then there = true else others = others + 1 end
  end
end

local retention, decided = redis.call('HGET', conf, 'retention'), 0
local chosen = retention
if not chosen then
  chosen = asked ~= '' and asked or existed and 'keep' or 'delete_on_ack'
end
if chosen == 'delete_on_ack' and others > (make and 0 or 1) then chosen = 'trim_settled' end
-- A producer decides only for a stream that it is about to make.
if chosen ~= retention and (make or retention or not existed) then
  redis.call('HSET', conf, 'retention', chosen)
  decided = 1
end

local epoch_field, waiting, made = 'epoch:' .. group, 0, 0
local epoch = make and redis.call('HGET', conf, epoch_field) or '0'
if make and not there then
  if heal then start = existed and healing_start(chosen) or '0' end
  local created = redis.pcall('XGROUP', 'CREATE', stream, group, start, 'MKSTREAM')
  if type(created) == 'table' and created.err then
    if string.sub(created.err, 1, 9) ~= 'BUSYGROUP' then return created end
  else
    groups, made = groups + 1, 1
    waiting = count_after(start)
  end
  -- Never below an earlier epoch: the clock may have gone back.
  epoch = text(math.max(now, (tonumber(epoch or '0') or 0) + 1))
  redis.call('HSET', conf, epoch_field, epoch)
elseif make and not epoch then
  epoch = text(now)
  redis.call('HSET', conf, epoch_field, epoch)
end
return {chosen, decided, existed and 1 or 0, made, waiting, groups, epoch}
