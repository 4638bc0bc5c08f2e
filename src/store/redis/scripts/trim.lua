-- Removes what every group has settled. KEYS: stream, conf. Answers how many entries went; -1:
-- none, for a group that conf knows is not there (lost, and not yet made again).
local stream, conf = KEYS[1], KEYS[2]

local function below(a, b) -- decimal numbers of up to 64 bits, as text
  if #a ~= #b then return #a < #b end
  return a < b
end

local function id_below(a, b)
  local a_ms, a_seq = string.match(a, '^(%d+)-(%d+)$')
  local b_ms, b_seq = string.match(b, '^(%d+)-(%d+)$')
  if a_ms ~= b_ms then return below(a_ms, b_ms) end
  return below(a_seq, b_seq)
end

if redis.call('EXISTS', stream) == 0 then return 0 end
-- `bound` is the lowest id that somebody needs; `after` tells that it is the one after it.
local bound, after, there = nil, nil, {}
local function need(id, exclusive)
  if not bound or id_below(id, bound) or (id == bound and not exclusive) then
    bound, after = id, exclusive
  end
end
for _, row in ipairs(redis.call('XINFO', 'GROUPS', stream)) do
  local group = {}
  for i = 1, #row, 2 do group[row[i]] = row[i + 1] end
  there[group['name']] = true
  need(group['last-delivered-id'], true)
  if group['pending'] > 0 then need(redis.call('XPENDING', stream, group['name'])[2], false) end
end
if not bound then return 0 end
for _, field in ipairs(redis.call('HKEYS', conf)) do
  local name = string.match(field, '^epoch:(.*)$')
  if name and not there[name] then return -1 end
end
-- MINID only at an id that exists: some servers write a file they cannot load when it names a
-- deleted one (redis #15808).
local first = redis.call('XRANGE', stream, (after and '(' or '') .. bound, '+', 'COUNT', 1)[1]
if not first then return redis.call('XTRIM', stream, 'MAXLEN', '=', 0) end
local limit = 100000
local gone = redis.call('XTRIM', stream, 'MINID', '~', first[1], 'LIMIT', limit)
if gone + 1000 > limit then return gone end -- the rest next time: no long stall
return gone + redis.call('XTRIM', stream, 'MINID', '=', first[1])
