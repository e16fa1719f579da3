-- SPDX-License-Identifier: Apache-2.0
--
-- For wrk: POST …/acquire about random accounts. Arguments: token, number of accounts. Prints one line of JSON.

local token, accounts = nil, 0
local requests = {}

function init(args)
    token, accounts = args[1], tonumber(args[2])
    local headers = { ['Authorization'] = 'Bearer ' .. token, ['Content-Type'] = 'application/json' }
    for i = 1, accounts do
        local body = string.format('{"account":"user%d@example.com","method":"gmail.users.messages.get"}', i)
        requests[i] = wrk.format('POST', '/api/v1/limiters/gmail/acquire', headers, body)
    end
    math.randomseed(os.time())
end

function request()
    return requests[math.random(accounts)]
end

function done(summary, latency)
    local errors = summary.errors
    io.write(string.format('{"requests": %d, "seconds": %.6f, "failed": %d, "p50Ms": %.4f, "p99Ms": %.4f, "p999Ms": %.4f, "maxMs": %.4f}\n',
        summary.requests, summary.duration / 1e6,
        errors.connect + errors.read + errors.write + errors.status + errors.timeout,
        latency:percentile(50) / 1000, latency:percentile(99) / 1000, latency:percentile(99.9) / 1000,
        latency.max / 1000))
end
