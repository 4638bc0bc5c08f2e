-- Takes over entries whose condition still holds. KEYS: stream, due, note.
-- ARGV: group, consumer, items: id owner delivery(-1 any) min_idle.
-- Answers per item: 1 owner changed, 2 not pending, 3 vanished, or [id, delivery, note, fields].
local stream, due, note = KEYS[1], KEYS[2], KEYS[3]
local group, me = ARGV[1], ARGV[2]
local CHANGED, NOT_PENDING, VANISHED = 1, 2, 3
local PARKED = 'penstock:parked'
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local function text(number) return string.format('%.0f', number) end
local function failed(reply) return type(reply) == 'table' and reply.err ~= nil end

local function drop_rows(id)
  redis.pcall('ZREM', due, id)
  redis.pcall('HDEL', note, id)
end

local function not_yet_due(id)
  local score = redis.pcall('ZSCORE', due, id)
  return score and not failed(score) and tonumber(score) > now
end

local function claim(row, id, owner, delivery, min_idle)
  if row[2] ~= owner or (delivery ~= '-1' and text(row[4]) ~= delivery) or row[3] < min_idle
      or (row[2] == PARKED and not_yet_due(id)) then
    if row[2] ~= PARKED then redis.pcall('ZREM', due, id) end
    return CHANGED
  end
  -- min-idle 0: the condition was checked above, and after a clock step back nothing else claims.
  local got = redis.pcall('XCLAIM', stream, group, me, 0, id)
  if failed(got) then return CHANGED end
  if not got[1] or not got[1][2] then
    redis.pcall('XACK', stream, group, id)
    drop_rows(id)
    return VANISHED
  end
  redis.pcall('ZREM', due, id)
  local kept = redis.pcall('HGET', note, id)
  if failed(kept) then kept = false end
  return {id, text(row[4] + 1), kept, got[1][2]}
end

local answers = {}
for at = 3, #ARGV, 4 do
  local id = ARGV[at]
  local row = redis.pcall('XPENDING', stream, group, id, id, 1)
  if failed(row) then return row end
  row = row[1]
  if row then
    answers[#answers + 1] = claim(row, id, ARGV[at + 1], ARGV[at + 2], tonumber(ARGV[at + 3]))
  else
    drop_rows(id)
    answers[#answers + 1] = NOT_PENDING
  end
end
return answers
