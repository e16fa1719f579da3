-- SPDX-License-Identifier: Apache-2.0
--
-- The second part of the library tidekeeper_quota: the decision. Refusals write nothing.

-- Decision ----------------------------------------------------------------------------------------------------------

-- Brings a bucket up to nowUs. What passed before the last change of the limits is refilled under the limits before
-- it: a raised capacity leaves the level where it was, a lowered one cuts it, debt stays.
local function advance(bucket, limits, nowUs)
    local level, carry, atUs = bucket.level, bucket.carry, bucket.atUs
    if not level then
        level, carry, atUs = limits.previousCapacity, 0, limits.changedUs
    elseif atUs < limits.changedUs then
        level, carry = refilledBetween(bucket, level, carry, atUs, limits.changedUs, limits.previousRefill,
            limits.previousCapacity)
        atUs = limits.changedUs
    end
    bucket.level, bucket.carry = refilledBetween(bucket, level, carry, atUs, nowUs, limits.refill, limits.capacity)
    bucket.refill = bucket.care and slowedDown(limits.refill, paceAt(bucket, nowUs)) or limits.refill
end

-- The account's and the project's bucket as they are now, with what else holds for calls of this family; and now.
local function readBuckets(keys, policy, limits, family, serverUs)
    local account, project = readAccount(keys[1]), readProject(keys[2])
    local nowUs = steadyTimeUs(serverUs, account, project)
    if nowUs > serverUs + project.clockOffsetUs then
        keepClockOffset(project, nowUs, serverUs, policy.project.ttlMs)
    end
    if account.care then
        readCare(account, family)
    end
    if project.care then
        readCare(project, family)
    end
    advance(account, limits, nowUs)
    advance(project, policy.project, nowUs)
    return account, project, nowUs
end

-- Milliseconds until the project's day ends, when this request would go beyond its budget; else 0.
local function dayRefusesForMs(request, day, project, nowUs)
    if request.lane == 'renewal' or (day.action == 1 and request.lane ~= 'bulk') then
        return 0
    end
    local base, endUs = dayOf(project)
    if nowUs >= endUs or project.used - base + request.cost <= day.budget then
        return 0
    end
    return ceil((endUs - nowUs) / 1000)
end

-- Milliseconds until one of the account's places is free.
local function placeFreeInMs(key, places, nowUs)
    local after = '(' .. text(nowUs)
    local held = call('ZCOUNT', key, after, '+inf')
    if held < places then
        return 0
    end
    local nextFree = call('ZRANGEBYSCORE', key, after, '+inf', 'WITHSCORES', 'LIMIT', text(held - places), '1')
    return ceil((nextFree[2] - nowUs) / 1000)
end

-- The longest of the waits that freezes impose, and who imposes it.
local function frozenBy(account, project, nowUs)
    local refusedBy, longestMs = nil, 0
    for name, bucket in pairs({ account_frozen = account, project_frozen = project }) do
        for _, freeze in ipairs(bucket.freezes or {}) do
            local ms = frozenForMs(freeze, nowUs)
            if ms and ms > longestMs then
                refusedBy, longestMs = name, ms
            end
        end
    end
    return refusedBy, longestMs
end

-- Who refuses for longest (nil: granted), the milliseconds to ask again after (−1: never), the milliseconds to wait
-- when granted.
local function decide(request, policy, limits, account, project, nowUs)
    local cost, day = request.cost, policy.day
    local refusedBy, retryAfterMs, waitMs = nil, 0, 0
    if cost > 0 then
        local accountFloor, projectFloor = 0, 0
        local bookable = floor(account.refill * request.maxWaitMs / 60)
        if request.lane == 'bulk' then
            -- Bookings of bulk may use half of the reserve at most, or they would starve realtime for ever.
            accountFloor, projectFloor = limits.reserve, policy.project.reserve
            bookable = min(bookable, floor(accountFloor / 2))
        end
        if cost > limits.capacity - accountFloor or cost > policy.project.capacity - projectFloor then
            return 'never', -1, 0
        end
        local missing = cost + accountFloor - account.level
        if missing > 0 then
            waitMs = msToRefill(missing, account.refill)
            retryAfterMs = msToRefill(missing - bookable, account.refill)
            refusedBy = retryAfterMs > 0 and 'account' or nil
        end
        local projectMs = msToRefill(cost + projectFloor - project.level, project.refill)
        if projectMs > retryAfterMs then
            refusedBy, retryAfterMs = 'project', projectMs
        end
        if day.action > 0 and day.budget > 0 then
            local dayMs = dayRefusesForMs(request, day, project, nowUs)
            if dayMs > retryAfterMs then
                refusedBy, retryAfterMs = 'day', dayMs
            end
        end
    end
    if account.care or project.care then
        local frozen, frozenMs = frozenBy(account, project, nowUs)
        if frozenMs > retryAfterMs then
            refusedBy, retryAfterMs = frozen, frozenMs
        end
    end
    if request.slotsKey then
        local placeMs = placeFreeInMs(request.slotsKey, limits.slots or policy.slots, nowUs)
        if placeMs > retryAfterMs then
            refusedBy, retryAfterMs = 'concurrency', placeMs
        end
    end
    return refusedBy, retryAfterMs, waitMs
end

-- Taking ------------------------------------------------------------------------------------------------------------

local function takeFromAccount(cost, account, limits, nowUs, serverUs)
    account.level = account.level - cost
    writeLevel(account, limits, nowUs, serverUs)
    if account.care then
        writeCare(account, nowUs)
    end
end

-- The end of the account's last booked wait.
local function bookedUntilUs(account)
    return toNumber(call('HGET', account.key, 'booked_until_us') or 0)
end

-- The end of the day that holds nowUs, by the bounds that the engine publishes; beyond them days of 24 hours.
local function dayEndUs(day, nowUs)
    if nowUs < day.endUs then
        return day.endUs
    end
    if nowUs < day.afterUs then
        return day.afterUs
    end
    return day.afterUs + (floor((nowUs - day.afterUs) / DAY_US) + 1) * DAY_US
end

-- Notes what was used up to each hour, for a rolling day, and where the day began.
local function turnTheHour(project, day, nowUs)
    local marks = {}
    for mark in string.gmatch(call('HGET', project.key, 'marks') or '', '%S+') do
        if nowUs - toNumber(string.match(mark, '^%d+')) <= DAY_US + HOUR_US then
            marks[#marks + 1] = mark
        end
    end
    marks[#marks + 1] = text(nowUs) .. ':' .. text(floor(project.used / 1000))
    call('HSET', project.key, 'marks', table.concat(marks, ' ', max(1, #marks - MOST_MARKS + 1)))
    local _, endUs = dayOf(project)
    if nowUs >= endUs then
        call('HSET', project.key, 'day', text(project.used) .. ' ' .. text(dayEndUs(day, nowUs)))
    end
end

-- Writes the project's level and what it used more, or less, than before.
local function writeProject(project, policy, usedMilli, nowUs, serverUs)
    if project.hour ~= hourOf(policy.project, serverUs) then
        turnTheHour(project, policy.day, nowUs)
    end
    project.used = max(0, project.used + usedMilli)
    writeLevel(project, policy.project, nowUs, serverUs)
end

local function takeFromProject(cost, project, policy, nowUs, serverUs)
    project.level = project.level - cost
    writeProject(project, policy, cost, nowUs, serverUs)
    if project.care then
        writeCare(project, nowUs)
    end
end

-- One of the account's places: its id.
local function takePlace(key, nowUs, untilUs)
    call('ZREMRANGEBYSCORE', key, '-inf', text(nowUs))
    local n = 0
    local id
    repeat
        n = n + 1
        id = format('%.0f-%d', nowUs, n)
    until call('ZADD', key, 'NX', text(untilUs), id) == 1
    call('PEXPIRE', key, text(LARGEST_WAIT_MS + 2 * SLOT_LEASE_US / 1000))
    return id
end

-- Acquire -----------------------------------------------------------------------------------------------------------

-- The request, or nil and the error to answer.
local function readRequest(keys, args, withPlace)
    local most = withPlace and 5 or 4
    if (#keys ~= most - 1 and #keys ~= most) or #args < 3 or #args > 5 then
        return nil, refuseArgument('keys must be account, project, policy [, id]' .. (withPlace and ', slots' or '')
            .. ' and the arguments cost, lane, max_wait_ms [, deadline_us [, family]]')
    end
    local cost = wholeNumber(args[1], LARGEST_COST)
    if not cost then
        return nil, refuseArgument('cost must be a whole number of units from 0 to 1000000000')
    end
    if not LANES[args[2]] then
        return nil, refuseArgument('lane must be realtime, bulk or renewal')
    end
    local maxWaitMs = wholeNumber(args[3], LARGEST_WAIT_MS)
    if not maxWaitMs then
        return nil, refuseArgument('max_wait_ms must be a whole number from 0 to 30000')
    end
    local deadlineUs = args[4] and args[4] ~= '' and wholeNumber(args[4], LARGEST_TIME_US)
    if deadlineUs == nil and args[4] then
        return nil, refuseArgument('deadline_us must be microseconds since the epoch')
    end
    if args[5] and not isFamily(args[5]) then
        return nil, refuseArgument('family must be at most 40 letters, digits, _ or -')
    end
    return {
        cost = cost * 1000, lane = args[2], maxWaitMs = maxWaitMs, deadlineUs = deadlineUs, family = args[5] or '',
        idKey = #keys == most and keys[4] or nil, slotsKey = withPlace and keys[#keys] or nil,
    }
end

-- The answer that a request with this id got before; nil when it is new.
local function firstAnswer(request)
    local kept = call('GET', request.idKey)
    if not kept then
        return nil
    end
    local w = {}
    for word in string.gmatch(kept, '%S+') do
        w[#w + 1] = word
    end
    if toNumber(w[1]) ~= request.cost or w[2] ~= request.lane or (request.slotsKey and not w[10]) then
        return refuseArgument('id was used with another cost or lane')
    end
    local n = function(i) return toNumber(w[i]) end
    local answer = { 1, n(3), 0, '', n(4), n(5), n(6), n(7), n(8) }
    if request.slotsKey then
        answer[10], answer[11] = w[9], n(10)
    end
    return answer
end

local function keepAnswer(request, answer)
    local words = { text(request.cost), request.lane, text(answer[2]) }
    for i = 5, 9 do
        words[#words + 1] = text(answer[i])
    end
    if request.slotsKey then
        words[#words + 1] = answer[10]
        words[#words + 1] = text(answer[11])
    end
    call('SET', request.idKey, table.concat(words, ' '), 'PX', ID_TTL_MS)
end

local function acquire(keys, args, serverUs, withPlace)
    local request, failure = readRequest(keys, args, withPlace)
    if not request then
        return failure
    end
    local policy, limits = readPolicy(keys[3], keys[1])
    if not policy then
        return limits
    end
    local answer = request.idKey and firstAnswer(request)
    if answer then
        return answer
    end

    local account, project, nowUs = readBuckets(keys, policy, limits, request.family, serverUs)
    local refusedBy, retryAfterMs, waitMs = decide(request, policy, limits, account, project, nowUs)
    local granted = not refusedBy or not policy.enforce
    if request.deadlineUs and serverUs > request.deadlineUs then
        granted, refusedBy, retryAfterMs, waitMs = false, 'late', 1, 0
    end
    if not refusedBy and request.cost > 0 then
        takeFromAccount(request.cost, account, limits, nowUs, serverUs)
        takeFromProject(request.cost, project, policy, nowUs, serverUs)
        local untilUs = nowUs + waitMs * 1000
        if waitMs > 0 and untilUs > bookedUntilUs(account) then
            call('HSET', account.key, 'booked_until_us', text(untilUs))
        end
    end
    answer = { granted and 1 or 0, refusedBy and 0 or waitMs, granted and 0 or retryAfterMs, refusedBy or '',
        account.level, limits.capacity, project.level, policy.project.capacity, serverUs }
    if withPlace then
        local leaseUs = waitMs * 1000 + SLOT_LEASE_US
        answer[10] = refusedBy and '' or takePlace(request.slotsKey, nowUs, nowUs + leaseUs)
        answer[11] = refusedBy and 0 or serverUs + leaseUs
    end
    if request.idKey and not refusedBy then
        keepAnswer(request, answer)
    end
    return answer
end

local function hold(keys, args, serverUs)
    return acquire(keys, args, serverUs, true)
end

-- Gives a place back: 1, or 0 when it was not held any more.
local function release(keys, args)
    if #keys ~= 1 or #args ~= 1 then
        return refuseArgument('keys must be slots and the argument the slot id')
    end
    return redis.call('ZREM', keys[1], args[1]) -- may be the first call of all: nothing is bound then
end

registerTimed('tidekeeper_acquire', acquire)
registerTimed('tidekeeper_hold', hold)
redis.register_function('tidekeeper_release_v1', release)
redis.register_function{
    function_name = 'tidekeeper_quota_build',
    callback = function() return 12 end,
    flags = { 'no-writes' },
}
