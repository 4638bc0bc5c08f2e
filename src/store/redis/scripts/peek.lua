-- Pending entries that look abandoned, per owner by that owner's own lease.
-- KEYS: stream, workers. ARGV: group, cursor id ('-' from the start), cursor consumer, max,
-- default lease, foreign idle, consumers looked into at most, the caller's consumer.
-- Answers [now, [id, owner, idle, delivery, ...], [consumer, row, ...], [gone, ...],
--          cursor id, cursor consumer (both '' when the turn is done)].
local stream, workers = KEYS[1], KEYS[2]
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

return {text(now), overdue, row_list, gone, next_id, next_name}
