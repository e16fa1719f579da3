#!lua name=tidekeeper_lease
-- SPDX-License-Identifier: Apache-2.0
-- build: 1
--
-- Leases: one holder of a name at a time, known by a random owner token, with a term that only ever grows (the
-- fencing token). A lease is a hash {owner, term} that expires with it. See README.md.

-- A lease takes next to nothing: a Redis that is full must not cost a leader its place.
local function register(name, callback)
    redis.register_function{function_name = name, callback = callback, flags = {'allow-oom'}}
end

local function whole(value, name)
    local number = tonumber(value)
    if not number or number ~= math.floor(number) or number < 0 or number > 9007199254740991 then
        error({err = 'ERR ' .. name .. ' must be a whole number, 0 or more'})
    end
    return number
end

-- The term is the server's time in microseconds, or one more than the greatest seen: it grows even after the
-- lease has expired or its Redis was lost, and it is exact until the year 2255.
local function nextTerm(atLeast)
    local t = redis.call('TIME')
    return math.max(tonumber(t[1]) * 1000000 + tonumber(t[2]), atLeast + 1)
end

register('tidekeeper_lease_acquire_v1', function(keys, args)
    local owner, ttl, seen = args[1], whole(args[2], 'ttl_ms'), whole(args[3] or '0', 'seen_term')
    if owner == '' or ttl == 0 then
        error({err = 'ERR owner and ttl_ms must be given'})
    end
    local f = redis.call('HMGET', keys[1], 'owner', 'term')
    local term = tonumber(f[2] or '0')
    if f[1] and f[1] ~= owner then
        return {0, term, redis.call('PTTL', keys[1])}
    end
    if not f[1] or term <= seen then
        term = nextTerm(seen)
        redis.call('HSET', keys[1], 'owner', owner, 'term', string.format('%.0f', term))
    end
    redis.call('PEXPIRE', keys[1], ttl)
    return {1, term, ttl}
end)

register('tidekeeper_lease_renew_v1', function(keys, args)
    if redis.call('HGET', keys[1], 'owner') ~= args[1] then
        return 0
    end
    redis.call('PEXPIRE', keys[1], whole(args[2], 'ttl_ms'))
    return 1
end)

register('tidekeeper_lease_release_v1', function(keys, args)
    if redis.call('HGET', keys[1], 'owner') ~= args[1] then
        return 0
    end
    return redis.call('DEL', keys[1])
end)

redis.register_function('tidekeeper_lease_build', function()
    return 1
end)
