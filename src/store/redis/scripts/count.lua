-- Counts one page of a stream without sending its bodies, for people. KEYS: stream or dead letters.
-- ARGV: from (an XRANGE start), page. Answers [count, first id, last id, bytes, group, n, ...].
local page = redis.call('XRANGE', KEYS[1], ARGV[1], '+', 'COUNT', ARGV[2])
local bytes, by_group = 0, {}
for _, entry in ipairs(page) do
  local fields, group = entry[2], nil
  for i = 1, #fields, 2 do
    bytes = bytes + #fields[i] + #fields[i + 1]
    if fields[i] == 'penstock-group' then group = fields[i + 1] end -- ours come last
  end
  if group then by_group[group] = (by_group[group] or 0) + 1 end
end
local answer = {#page, page[1] and page[1][1] or '', page[1] and page[#page][1] or '', bytes}
for group, count in pairs(by_group) do
  answer[#answer + 1] = group
  answer[#answer + 1] = count
end
return answer
