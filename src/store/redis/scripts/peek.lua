-- Pending entries that look abandoned, per owner by that owner's own lease.
-- KEYS: stream, workers, conf. ARGV: group, cursor id ('-' from the start), cursor consumer, max,
-- default lease, foreign idle, consumers looked into at most, the caller's consumer.
-- Answers [now, [id, owner, idle, delivery, ...], [consumer, row, ...], [gone, ...],
--          cursor id, cursor consumer (both '' when the turn is done)].
local stream, workers, conf = KEYS[1], KEYS[2], KEYS[3]
local group, cursor_id, cursor_name = ARGV[1], ARGV[2], ARGV[3]
local max, default_lease, foreign = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
local looks, me, PARKED = tonumber(ARGV[7]), ARGV[8], 'penstock:parked'
local SMALL, PAGE = 5000, 1000
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local function text(number) return string.format('%.0f', number) end
local function failed(reply) return type(reply) == 'table' and reply.err ~= nil end
local function ours(name)
  return string.find(name, '%.%x%x%x%x%x%x%x%x$') ~= nil
end

local raw_consumers = redis.pcall('XINFO', 'CONSUMERS', stream, group)
if failed(raw_consumers) then
  if string.find(raw_consumers.err, 'no such key', 1, true) then
    return redis.error_reply('NOGROUP no such stream')
  end
  return raw_consumers
end
local rows, row_list = {}, {}
local size = redis.pcall('HLEN', workers)
if not failed(size) and size > 0 then
  local flat = size <= 1024 and redis.call('HGETALL', workers)
      or redis.call('HSCAN', workers, 0, 'COUNT', 1024)[2]
  for i = 1, #flat, 2 do
    local lease, seen = string.match(flat[i + 1], '^(%d+) (%d+) ')
    if lease and #row_list < 2048 then
      rows[flat[i]] = {lease = tonumber(lease), seen = tonumber(seen)}
      row_list[#row_list + 1] = flat[i]
      row_list[#row_list + 1] = flat[i + 1]
    end
  end
end
local function row_of(name)
  if rows[name] or size == 0 or failed(size) or size <= 1024 then return rows[name] end
  local lease, seen = string.match(redis.call('HGET', workers, name) or '', '^(%d+) (%d+) ')
  return lease and {lease = tonumber(lease), seen = tonumber(seen)} or nil
end

-- Who holds something, by name, and who is gone.
local names, pending, exists, gone = {}, {}, {}, {}
for _, raw in ipairs(raw_consumers) do
  local c = {}
  for i = 1, #raw, 2 do c[raw[i]] = raw[i + 1] end
  local name = c['name']
  exists[name] = true
  if name ~= PARKED then
    if c['pending'] > 0 then
      names[#names + 1] = name
      pending[name] = c['pending']
    elseif name ~= me and #gone < 64 then
      local row = row_of(name)
      if (row and now - row.seen > 2 * row.lease)
          or (not row and ours(name) and c['idle'] > 2 * default_lease) then
        gone[#gone + 1] = name
      end
    end
  end
end
for i = 1, #row_list, 2 do -- a worker that never got an entry is no consumer on this server
  local name = row_list[i]
  if not exists[name] and name ~= PARKED and name ~= me and #gone < 64
      and now - rows[name].seen > 2 * rows[name].lease then
    gone[#gone + 1] = name
  end
end
table.sort(names)

local overdue, count, budget = {}, 0, 2 * PAGE
local next_id, next_name = '', ''
for _, name in ipairs(names) do
  if name >= cursor_name then
    if looks <= 0 or budget <= 0 or count >= max then
      next_id, next_name = '-', name
      break
    end
    looks = looks - 1
    local row = row_of(name)
    local limit = row and row.lease or ours(name) and default_lease or foreign
    local from = '-'
    if name == cursor_name and cursor_id ~= '-' then from = '(' .. cursor_id end
    local got, page
    if pending[name] <= SMALL then
      page = max - count
      got = redis.call('XPENDING', stream, group, 'IDLE', text(limit), from, '+', page, name)
    else -- a long list: read a bounded piece of it, whatever it holds
      page = PAGE
      got = redis.call('XPENDING', stream, group, from, '+', page, name)
    end
    budget = budget - #got
    local last
    for _, found in ipairs(got) do
      if count >= max then break end
      last = found[1]
      if found[3] >= limit then
        for i, value in ipairs({found[1], found[2], found[3], text(found[4])}) do
          overdue[4 * count + i] = value
        end
        count = count + 1
      end
    end
    if last and (#got == page or last ~= got[#got][1]) then
      next_id, next_name = last, name
      break
    end
  end
end

-- The end of a turn: where a lost group would go on (docs/wire.md). Not where acked entries are
-- deleted: there it goes on at 0.
local retention = redis.pcall('HGET', conf, 'retention')
if next_name == '' and (retention == 'keep' or retention == 'trim_settled') then
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
  local lowest = redis.call('XPENDING', stream, group)[2]
  if at and lowest and not_above(lowest, at) then at = before(lowest) end
  if at and seen['entries-added'] then
    redis.pcall('HSET', conf, 'checkpoint:' .. group,
                at .. ' ' .. seen['last-generated-id'] .. ' ' .. text(seen['entries-added']))
  end
end
return {text(now), overdue, row_list, gone, next_id, next_name}
