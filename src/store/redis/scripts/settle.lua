-- Ends leases, fenced. KEYS: stream, due, note, dead. ARGV: group, consumer, delete (0|1), items:
--   a id delivery
--   p id delivery delay release(0|1) attempts base crashes first_failed error checkpoint
--   d id delivery attempts first_failed error reason
-- Answers one digit per item: 0 done, 1 lease lost, 2 already settled, 3 refused.
local stream, due, note, dead = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local group, me, delete = ARGV[1], ARGV[2], ARGV[3] == '1'
local DONE, LOST, ALREADY, REFUSED = '0', '1', '2', '3'
local MAX_VALUES, MAX_BYTES = 7800, 64 * 1024 * 1024
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local function text(number) return string.format('%.0f', number) end
local function failed(reply) return type(reply) == 'table' and reply.err ~= nil end

local function drop_rows(id)
  redis.pcall('HDEL', note, id)
  redis.pcall('ZREM', due, id)
end

local function finish(id, keep_body)
  if failed(redis.pcall('XACK', stream, group, id)) then return false end
  if delete and not keep_body then redis.pcall('XDEL', stream, id) end
  drop_rows(id)
  return true
end

local function first_failed(attempts, at)
  if at == '0' and attempts ~= '0' then return text(now) end
  return at
end

-- Adds first: a refusal (OOM, wrong type) leaves everything as it was.
local function park(id, delay, release, attempts, base, crashes, failed_at, err, checkpoint)
  local old_score = redis.pcall('ZSCORE', due, id)
  local old_note = redis.pcall('HGET', note, id)
  if failed(old_score) or failed(old_note) then return REFUSED end
  local function undo()
    if old_score then redis.pcall('ZADD', due, old_score, id) else redis.pcall('ZREM', due, id) end
    if old_note then redis.pcall('HSET', note, id, old_note) else redis.pcall('HDEL', note, id) end
    return REFUSED
  end
  if failed(redis.pcall('ZADD', due, text(now + delay), id)) then return REFUSED end
  failed_at = first_failed(attempts, failed_at)
  local head = attempts .. ' ' .. base .. ' ' .. crashes .. ' ' .. failed_at
  local written
  if head == '0 0 0 0' and err == '' and checkpoint == '' then
    written = redis.pcall('HDEL', note, id)
  else
    written = redis.pcall('HSET', note, id, '1 ' .. head .. ' ' .. #err .. ':' .. err .. checkpoint)
  end
  if failed(written) then return undo() end
  local moved
  if release then
    moved = redis.pcall('XCLAIM', stream, group, 'penstock:parked', 0, id,
                        'IDLE', '1000000000000', 'JUSTID')
  else
    moved = redis.pcall('XCLAIM', stream, group, 'penstock:parked', 0, id, 'JUSTID')
  end
  if failed(moved) then return undo() end
  if not moved[1] then -- its body was deleted: nothing is left to run again
    redis.pcall('XACK', stream, group, id)
    drop_rows(id)
    return ALREADY
  end
  return DONE
end

local function bury(id, delivery, attempts, failed_at, err, reason)
  local entry = redis.pcall('XRANGE', stream, id, id)
  if failed(entry) then return REFUSED end
  local fields = entry[1] and entry[1][2] or {}
  local bytes, redrives = 0, '0'
  for i = 1, #fields, 2 do
    bytes = bytes + #fields[i] + #fields[i + 1]
    if fields[i] == 'penstock-redrives' then redrives = fields[i + 1] end
  end
  -- Too large for one XADD: a letter that points to the entry, which then stays in the stream.
  local pointer = #fields > MAX_VALUES or bytes > MAX_BYTES
  if pointer then fields = {} end
  local ours = {
    'penstock-group', group, 'penstock-reason', reason, 'penstock-error', err,
    'penstock-worker', me, 'penstock-attempt', attempts, 'penstock-deliveries', delivery,
    'penstock-first-failed', first_failed(attempts, failed_at), 'penstock-died', text(now),
    'penstock-redrives', redrives, 'penstock-original-id', id}
  for i = 1, #ours do fields[#fields + 1] = ours[i] end
  local letter = redis.pcall('XADD', dead, '*', unpack(fields))
  if failed(letter) then return REFUSED end
  if not finish(id, pointer) then
    redis.pcall('XDEL', dead, letter)
    return REFUSED
  end
  return DONE
end

local answers, at = {}, 4
while at <= #ARGV do
  local kind, id, delivery = ARGV[at], ARGV[at + 1], ARGV[at + 2]
  local row = redis.pcall('XPENDING', stream, group, id, id, 1)
  if failed(row) then return row end -- no group, no stream: the same for every item
  row = row[1]
  local status
  if not row then
    status = ALREADY
  elseif row[2] ~= me or text(row[4]) ~= delivery then
    status = LOST
  elseif kind == 'a' then
    status = finish(id, false) and DONE or REFUSED
  elseif kind == 'p' then
    status = park(id, tonumber(ARGV[at + 3]), ARGV[at + 4] == '1', ARGV[at + 5], ARGV[at + 6],
                  ARGV[at + 7], ARGV[at + 8], ARGV[at + 9], ARGV[at + 10])
  else
    status = bury(id, delivery, ARGV[at + 3], ARGV[at + 4], ARGV[at + 5], ARGV[at + 6])
  end
  answers[#answers + 1] = status
  at = at + (kind == 'a' and 3 or kind == 'p' and 11 or 7)
end
return table.concat(answers)
