-- Removes a consumer that holds nothing, with its row. KEYS: stream, workers.
-- ARGV: group, consumer. Answers 1, or 0 when it holds something.
local stream, workers, group, consumer = KEYS[1], KEYS[2], ARGV[1], ARGV[2]
if consumer == 'penstock:parked' then return 0 end
-- DELCONSUMER destroys the consumer's pending list: look first, in the same step.
if #redis.call('XPENDING', stream, group, '-', '+', 1, consumer) > 0 then return 0 end
redis.call('XGROUP', 'DELCONSUMER', stream, group, consumer)
redis.pcall('HDEL', workers, consumer)
return 1
