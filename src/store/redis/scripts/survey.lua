-- What a stream holds, for people; counting is done by count.lua, page by page.
-- KEYS: stream, dead, conf, then a workers hash for each group named in ARGV.
-- Answers [now, exists, length, last id, dead, retention or nil, first id,
--          [group, last delivered, pending, lowest pending, [name, pending, idle, row, ...]]...].
local stream, dead, conf = KEYS[1], KEYS[2], KEYS[3]
local time = redis.call('TIME')
local now = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))
local function failed(reply) return type(reply) == 'table' and reply.err ~= nil end
local function named(row)
  local fields = {}
  for i = 1, #row, 2 do fields[row[i]] = row[i + 1] end
  return fields
end

local letters = redis.pcall('XLEN', dead)
if failed(letters) then letters = -1 end
local retention = redis.pcall('HGET', conf, 'retention')
if failed(retention) then retention = false end
if redis.call('EXISTS', stream) == 0 then
  return {now, 0, 0, '0-0', letters, retention, '0-0'}
end
local info = named(redis.call('XINFO', 'STREAM', stream))
local first = info['first-entry'] and info['first-entry'][1] or '0-0'
local answer = {now, 1, info['length'], info['last-generated-id'], letters, retention, first}
local rows_of = {}
for i = 1, #ARGV do rows_of[ARGV[i]] = KEYS[3 + i] end
for _, raw in ipairs(redis.call('XINFO', 'GROUPS', stream)) do
  local group = named(raw)
  local name, consumers, listed = group['name'], {}, {}
  for _, one in ipairs(redis.call('XINFO', 'CONSUMERS', stream, name)) do
    local c = named(one)
    local row = rows_of[name] and redis.pcall('HGET', rows_of[name], c['name']) or false
    if failed(row) then row = false end
    listed[c['name']] = true
    consumers[#consumers + 1] = c['name']
    consumers[#consumers + 1] = c['pending']
    consumers[#consumers + 1] = c['idle']
    consumers[#consumers + 1] = row
    if #consumers >= 4096 then break end
  end
  -- A worker that was served nothing yet is no consumer on some servers.
  local rows = rows_of[name] and redis.pcall('HSCAN', rows_of[name], 0, 'COUNT', 1024)
  if rows and not failed(rows) then
    for i = 1, #rows[2], 2 do
      if not listed[rows[2][i]] and #consumers < 8192 then
        for _, value in ipairs({rows[2][i], 0, 0, rows[2][i + 1]}) do
          consumers[#consumers + 1] = value
        end
      end
    end
  end
  local lowest = group['pending'] > 0 and redis.call('XPENDING', stream, name)[2] or false
  answer[#answer + 1] = {name, group['last-delivered-id'], group['pending'], lowest, consumers}
end
return answer
