-- One page of the pending list, for people. KEYS: stream, due, note. ARGV: group, from, max.
-- Answers rows [id, owner, idle, delivery, due or nil, note or nil].
local function failed(reply) return type(reply) == 'table' and reply.err ~= nil end
local rows = redis.call('XPENDING', KEYS[1], ARGV[1], ARGV[2], '+', ARGV[3])
local answers = {}
for i, row in ipairs(rows) do
  local due = redis.pcall('ZSCORE', KEYS[2], row[1])
  if failed(due) or not due then due = false else due = string.format('%.0f', tonumber(due)) end
  local note = redis.pcall('HGET', KEYS[3], row[1])
  if failed(note) then note = false end
  answers[i] = {row[1], row[2], row[3], string.format('%.0f', row[4]), due, note}
end
return answers
