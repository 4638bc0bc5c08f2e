-- Writes a worker's row with the server's time. KEYS: workers.
-- ARGV: consumer, lease ms, pid, start of the process, version, host.
local time = redis.call('TIME')
local now = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))
redis.call('HSET', KEYS[1], ARGV[1],
           table.concat({ARGV[2], now, ARGV[3], ARGV[4], ARGV[5], ARGV[6]}, ' '))
return 1
