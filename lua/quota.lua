#!lua name=tidekeeper_quota
-- build: 1
-- SPDX-License-Identifier: Apache-2.0
--
-- Weighted token buckets: one call decides over an account's and its project's bucket, atomically, and takes
-- from both or from none. README.md gives keys, arguments, results and fields.
--
-- Amounts are whole milli-units. A milli-unit has 60,000 parts, because elapsed µs × units per minute ÷ 60,000 are
-- milli-units: parts are carried from write to write, so that nothing is lost to rounding. Every number stays below
-- 2^53, where Lua's numbers are exact.

local FORMAT = '1' -- of the hashes
local PARTS = 60000
local LARGEST_COST = 1000000000  -- units
local LARGEST_WAIT_MS = 30000
local LARGEST_TIME_US = 2 ^ 53
local ID_TTL_MS = '60000'
local SLOWEST_PACE_DIVISOR = 4 -- a bucket may be slowed down to a quarter of its refill

local LANES = { realtime = true, bulk = true, renewal = true }

local function text(number)
    return string.format('%.0f', number)
end

-- The whole number that an argument stands for; nil for everything else: signs, fractions, exponents, nan, inf, ''.
local function wholeNumber(argument, largest)
    if argument and #argument <= 16 and argument:find('^%d+$') then
        local number = tonumber(argument)
        if number <= largest then
            return number
        end
    end
end

local function serverTimeUs()
    local time = redis.call('TIME')
    return time[1] * 1000000 + time[2]
end

-- The request, or nil and the error to answer.
local function readRequest(keys, args)
    if (#keys ~= 3 and #keys ~= 4) or (#args ~= 3 and #args ~= 4) then
        return nil, redis.error_reply('TKARG keys must be account, project, policy [, id] and the arguments cost, lane, '
            .. 'max_wait_ms [, deadline_us]')
    end
    local cost = wholeNumber(args[1], LARGEST_COST)
    if not cost then
        return nil, redis.error_reply('TKARG cost must be a whole number of units from 0 to 1000000000')
    end
    if not LANES[args[2]] then
        return nil, redis.error_reply('TKARG lane must be realtime, bulk or renewal')
    end
    local maxWaitMs = wholeNumber(args[3], LARGEST_WAIT_MS)
    if not maxWaitMs then
        return nil, redis.error_reply('TKARG max_wait_ms must be a whole number from 0 to 30000')
    end
    local deadlineUs = wholeNumber(args[4], LARGEST_TIME_US)
    if args[4] and not deadlineUs then
        return nil, redis.error_reply('TKARG deadline_us must be microseconds since the epoch')
    end
    return { cost = cost * 1000, lane = args[2], maxWaitMs = maxWaitMs, deadlineUs = deadlineUs }
end

-- The fields of a policy in the order of its field `compiled`, which holds them all in one line.
local COMPILED_FIELDS = {
    'format', 'enforce', 'key_ttl_ms', 'changed_us',
    'account_capacity_milli', 'account_refill_per_minute', 'account_reserve_milli',
    'previous_account_capacity_milli', 'previous_account_refill_per_minute',
    'project_capacity_milli', 'project_refill_per_minute', 'project_reserve_milli',
    'previous_project_capacity_milli', 'previous_project_refill_per_minute',
}

-- Policies by their compiled line, so that a decision reads one field and parses nothing.
local parsedPolicies, parsedCount = {}, 0
local MOST_PARSED = 1000

local function parsePolicy(compiled)
    local f = {}
    for word in compiled:gmatch('%d+') do
        f[#f + 1] = tonumber(word)
    end
    if parsedCount >= MOST_PARSED then
        parsedPolicies, parsedCount = {}, 0
    end
    local policy = {
        enforce = f[2] ~= 0,
        keyTtlMs = f[3],
        changedUs = f[4],
        account = { capacity = f[5], refill = f[6], reserve = f[7], previousCapacity = f[8], previousRefill = f[9] },
        project = { capacity = f[10], refill = f[11], reserve = f[12], previousCapacity = f[13], previousRefill = f[14] },
    }
    parsedPolicies[compiled], parsedCount = policy, parsedCount + 1
    return policy
end

-- The policy, or nil and the error to answer.
local function readPolicy(key)
    local compiled = redis.call('HGET', key, 'compiled')
    if not compiled then
        return nil, redis.error_reply('TKPOLICY no policy is published under this key')
    end
    if parsedPolicies[compiled] then
        return parsedPolicies[compiled]
    end
    if compiled:match('^%d+') ~= FORMAT then
        return nil, redis.error_reply('TKPOLICY the policy has a format that this library does not read')
    end
    return parsePolicy(compiled)
end

-- The bucket as it was last written, without a level when there is none: it is full then.
local function readBucket(key)
    local f = redis.call('HMGET', key, 'level_milli', 'carry', 'at_us', 'clock_offset_us')
    return {
        key = key,
        level = tonumber(f[1]),
        carry = tonumber(f[2]),
        atUs = tonumber(f[3]) or 0,
        clockOffsetUs = tonumber(f[4]) or 0, -- kept in the project's hash only
    }
end

-- Time that never runs backwards: the server's, plus what it was set back by so far.
local function steadyTimeUs(serverUs, account, project)
    return math.max(serverUs + project.clockOffsetUs, account.atUs, project.atUs)
end

-- Remembers a step back of the server's clock: the only write that a refusal may make.
local function keepClockOffset(project, offsetUs, keyTtlMs)
    redis.call('HSET', project.key, 'format', FORMAT, 'clock_offset_us', text(offsetUs))
    redis.call('HINCRBY', project.key, 'clock_steps', '1')
    if redis.call('PTTL', project.key) < keyTtlMs then
        redis.call('PEXPIRE', project.key, text(keyTtlMs))
    end
end

-- level and carry after elapsedUs of refill. Each whole 60 ms is worth `refill` milli-units.
local function refilled(level, carry, elapsedUs, refill, capacity)
    local rest = elapsedUs % PARTS
    local parts = rest * refill + carry
    carry = parts % PARTS
    level = level + (elapsedUs - rest) / PARTS * refill + (parts - carry) / PARTS
    if level >= capacity then
        return capacity, 0
    end
    return level, carry
end

-- Brings a bucket up to nowUs. What passed before the last change of the limits is refilled under the limits before
-- it: a raised capacity leaves the level where it was, a lowered one cuts it, debt stays.
local function advance(bucket, limits, changedUs, nowUs)
    local level, carry, atUs = bucket.level, bucket.carry, bucket.atUs
    if not level then
        level, carry, atUs = limits.previousCapacity, 0, changedUs
    elseif atUs < changedUs then
        level, carry = refilled(level, carry, changedUs - atUs, limits.previousRefill, limits.previousCapacity)
        atUs = changedUs
    end
    bucket.level, bucket.carry = refilled(level, carry, nowUs - atUs, limits.refill, limits.capacity)
end

-- Milliseconds, rounded up, in which `refill` brings this many milli-units.
local function msToRefill(milli, refill)
    return milli > 0 and math.ceil(milli * 60 / refill) or 0
end

-- refusedBy (nil: granted), the milliseconds to ask again after (−1: never), the milliseconds to wait when granted.
local function decide(request, policy, account, project)
    local cost = request.cost
    if cost == 0 then
        return nil, 0, 0
    end
    local accountFloor, projectFloor = 0, 0
    local bookable = math.floor(policy.account.refill * request.maxWaitMs / 60)
    if request.lane == 'bulk' then
        -- Bookings of bulk may use half of the reserve at most, or they would starve realtime for ever.
        accountFloor, projectFloor = policy.account.reserve, policy.project.reserve
        bookable = math.min(bookable, math.floor(accountFloor / 2))
    end
    if cost > policy.account.capacity - accountFloor or cost > policy.project.capacity - projectFloor then
        return 'never', -1, 0
    end
    local missing = cost + accountFloor - account.level
    local accountMs = msToRefill(missing - bookable, policy.account.refill)
    local projectMs = msToRefill(cost + projectFloor - project.level, policy.project.refill)
    if accountMs == 0 and projectMs == 0 then
        return nil, 0, msToRefill(missing, policy.account.refill)
    end
    if projectMs > accountMs then
        return 'project', projectMs, 0
    end
    return 'account', accountMs, 0
end

-- Keys live twice the time to full at the slowest pace, or longer: expiry gives nothing away.
local function take(cost, bucket, limits, nowUs, keyTtlMs)
    bucket.level = bucket.level - cost
    redis.call('HSET', bucket.key, 'format', FORMAT, 'level_milli', text(bucket.level), 'carry', text(bucket.carry),
        'at_us', text(nowUs))
    local toFullMs = msToRefill(limits.capacity - bucket.level, limits.refill)
    redis.call('PEXPIRE', bucket.key, text(math.max(keyTtlMs, 2 * SLOWEST_PACE_DIVISOR * toFullMs)))
end

-- The answer that a request with this id got before; nil when it is new.
local function firstAnswer(key, request)
    local kept = redis.call('GET', key)
    if not kept then
        return nil
    end
    local words = {}
    for word in kept:gmatch('%S+') do
        words[#words + 1] = word
    end
    if tonumber(words[1]) ~= request.cost or words[2] ~= request.lane then
        return redis.error_reply('TKARG id was used with another cost or lane')
    end
    local n = function(i) return tonumber(words[i]) end
    return { 1, n(3), 0, '', n(4), n(5), n(6), n(7), n(8) }
end

local function keepAnswer(key, request, answer)
    local words = { text(request.cost), request.lane, text(answer[2]) }
    for i = 5, 9 do
        words[#words + 1] = text(answer[i])
    end
    redis.call('SET', key, table.concat(words, ' '), 'PX', ID_TTL_MS)
end

local function acquire(keys, args, serverUs)
    local request, failure = readRequest(keys, args)
    if not request then
        return failure
    end
    local policy
    policy, failure = readPolicy(keys[3])
    if not policy then
        return failure
    end
    local idKey = keys[4]
    local answer = idKey and firstAnswer(idKey, request)
    if answer then
        return answer
    end

    local account, project = readBucket(keys[1]), readBucket(keys[2])
    local nowUs = steadyTimeUs(serverUs, account, project)
    if nowUs > serverUs + project.clockOffsetUs then
        keepClockOffset(project, nowUs - serverUs, policy.keyTtlMs)
    end
    advance(account, policy.account, policy.changedUs, nowUs)
    advance(project, policy.project, policy.changedUs, nowUs)

    local refusedBy, retryAfterMs, waitMs = decide(request, policy, account, project)
    local granted = not refusedBy or not policy.enforce
    if request.deadlineUs and serverUs > request.deadlineUs then
        granted, refusedBy, retryAfterMs, waitMs = false, 'late', 1, 0
    end
    if not refusedBy and request.cost > 0 then
        take(request.cost, account, policy.account, nowUs, policy.keyTtlMs)
        take(request.cost, project, policy.project, nowUs, policy.keyTtlMs)
    end
    answer = { granted and 1 or 0, waitMs, granted and 0 or retryAfterMs, refusedBy or '', account.level,
        policy.account.capacity, project.level, policy.project.capacity, serverUs }
    if idKey and not refusedBy then
        keepAnswer(idKey, request, answer)
    end
    return answer
end

-- What a policy consists of, and the largest value of each; the smallest is 1, of reserves and enforce 0.
local POLICY_FIELDS = {
    account_capacity_milli = 1e12, account_refill_per_minute = 1e9, account_reserve_milli = 1e12,
    project_capacity_milli = 1e12, project_refill_per_minute = 1e9, project_reserve_milli = 1e12,
    key_ttl_ms = 1e12, enforce = 1,
}
local LIMIT_FIELDS = {
    'account_capacity_milli', 'account_refill_per_minute', 'project_capacity_milli', 'project_refill_per_minute',
}

-- The fields by name, or nil and the error to answer.
local function readPublishedFields(args)
    local given = {}
    for i = 1, #args, 2 do
        local name, largest = args[i], POLICY_FIELDS[args[i]]
        local value = largest and wholeNumber(args[i + 1], largest)
        local smallest = (name == 'enforce' or name:find('_reserve_')) and 0 or 1
        if not value or value < smallest then
            return nil, redis.error_reply('TKARG ' .. name .. ' is unknown or out of range')
        end
        given[name] = text(value)
    end
    for name in pairs(POLICY_FIELDS) do
        if not given[name] then
            return nil, redis.error_reply('TKARG ' .. name .. ' is missing')
        end
    end
    return given
end

local function readHash(key)
    local flat, fields = redis.call('HGETALL', key), {}
    for i = 1, #flat, 2 do
        fields[flat[i]] = flat[i + 1]
    end
    return fields
end

-- Changed limits keep the ones before them and the time of the change, see advance().
local function withHistory(given, old, nowUs)
    local limitsChanged = false
    for _, name in ipairs(LIMIT_FIELDS) do
        limitsChanged = limitsChanged or old[name] ~= given[name]
    end
    given.format = FORMAT
    given.changed_us = limitsChanged and text(nowUs) or old.changed_us
    for _, name in ipairs(LIMIT_FIELDS) do
        given['previous_' .. name] = old[limitsChanged and name or 'previous_' .. name]
    end
    local line = {}
    for i, name in ipairs(COMPILED_FIELDS) do
        line[i] = given[name]
    end
    given.compiled = table.concat(line, ' ')
    return given
end

-- Stores a policy, without expiry: 1 when that changed anything, 0 when it stood there already; then now_us.
local function publish(keys, args)
    local given, failure = readPublishedFields(args)
    if not given then
        return failure
    end
    local policyKey, project, serverUs = keys[1], readBucket(keys[2]), serverTimeUs()
    local old = readHash(policyKey)
    if old.format ~= FORMAT then
        old = { changed_us = '0' } -- nothing came before: the first limits count as the previous ones too
        for _, name in ipairs(LIMIT_FIELDS) do
            old[name], old['previous_' .. name] = given[name], given[name]
        end
    end
    local changed = old.format ~= FORMAT
    for name, value in pairs(given) do
        changed = changed or old[name] ~= value
    end
    if not changed then
        return { 0, serverUs }
    end
    local words = {}
    for name, value in pairs(withHistory(given, old, steadyTimeUs(serverUs, project, project))) do
        words[#words + 1] = name
        words[#words + 1] = value
    end
    redis.call('DEL', policyKey)
    redis.call('HSET', policyKey, unpack(words))
    return { 1, serverUs }
end

-- Levels as they are now: now_us, account capacity, project level, project capacity, then one level per account.
local function levels(keys)
    local policy, failure = readPolicy(keys[2])
    if not policy then
        return failure
    end
    local serverUs, project = serverTimeUs(), readBucket(keys[1])
    local present = {}
    for i = 3, #keys do
        local account = readBucket(keys[i])
        advance(account, policy.account, policy.changedUs, steadyTimeUs(serverUs, account, project))
        present[#present + 1] = account.level
    end
    advance(project, policy.project, policy.changedUs, steadyTimeUs(serverUs, project, project))
    return { serverUs, policy.account.capacity, project.level, policy.project.capacity, unpack(present) }
end

redis.register_function('tidekeeper_acquire_v1', function(keys, args)
    return acquire(keys, args, serverTimeUs())
end)

-- For tests: the server's time is the first argument.
redis.register_function('tidekeeper_acquire_at_v1', function(keys, args)
    local serverUs = wholeNumber(table.remove(args, 1), LARGEST_TIME_US)
    if not serverUs then
        return redis.error_reply('TKARG now_us must be microseconds since the epoch')
    end
    return acquire(keys, args, serverUs)
end)

redis.register_function('tidekeeper_publish_v1', publish)

redis.register_function{
    function_name = 'tidekeeper_levels_v1',
    callback = levels,
    flags = { 'no-writes' },
}

redis.register_function{
    function_name = 'tidekeeper_quota_build',
    callback = function() return 1 end,
    flags = { 'no-writes' },
}
