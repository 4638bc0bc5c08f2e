-- Resets the idle time of what is still held. KEYS: stream, and nothing else, so that a slot that
-- moves never stops a renewal. ARGV: group, consumer, then id, delivery, by rising id.
-- Answers one digit per item: 0 renewed, 1 owned by another (or another delivery of ours),
-- 2 not pending, 3 no body.
local stream, group, me = KEYS[1], ARGV[1], ARGV[2]
local items = (#ARGV - 2) / 2
if items < 1 then return '' end

local function text(number) return string.format('%.0f', number) end

-- Our own list over the ids' range: one call where we hold little else.
local held, rows, cap = {}, 0, 4 * items
local from, last = ARGV[3], ARGV[#ARGV - 1]
repeat
  local page = math.min(items + 16, cap - rows)
  local got = redis.call('XPENDING', stream, group, from, last, page, me)
  for _, row in ipairs(got) do held[row[1]] = text(row[4]) end
  rows = rows + #got
  if #got > 0 then from = '(' .. got[#got][1] end
  if #got > 0 and got[#got][1] == last then break end
until #got < page or rows >= cap

local answers, ours, index = {}, {}, {}
for i = 1, items do
  local id, delivery = ARGV[2 * i + 1], ARGV[2 * i + 2]
  local mine = held[id]
  if mine == nil then
    local row = redis.call('XPENDING', stream, group, id, id, 1)[1]
    if not row then
      answers[i] = '2'
    else
      mine = row[2] == me and text(row[4]) or false
    end
  end
  if answers[i] == nil then
    if mine == delivery then
      answers[i] = '3'
      ours[#ours + 1] = id
      index[#ours] = i
    else
      answers[i] = '1'
    end
  end
end
if #ours > 0 then
  ours[#ours + 1] = 'JUSTID'
  local renewed = {}
  for _, id in ipairs(redis.call('XCLAIM', stream, group, me, 0, unpack(ours))) do
    renewed[id] = true
  end
  for i = 1, #ours - 1 do
    if renewed[ours[i]] then answers[index[i]] = '0' end
  end
end
return table.concat(answers)
