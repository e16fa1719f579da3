#!lua name=tidekeeper_quota
-- build: 12
-- SPDX-License-Identifier: Apache-2.0
--
-- Weighted token buckets: one call decides over an account's and its project's bucket, the project's day and the
-- freezes, atomically, and takes from all or from none. README.md gives keys, arguments, results and fields. The
-- library is this file, which knows policies, buckets and freezes, with quota_acquire.lua, quota_feedback.lua and
-- quota_upkeep.lua appended in this order.
--
-- Amounts are whole milli-units. A milli-unit has 60,000 parts, because elapsed µs × units per minute ÷ 60,000 are
-- milli-units: parts are carried from write to write, so that nothing is lost to rounding. Every number stays below
-- 2^53, where Lua's numbers are exact.

local FORMAT = '1' -- of the buckets
local POLICY_FORMAT = '2'
local PARTS = 60000
local LARGEST_COST = 1000000000 -- units
local LARGEST_WAIT_MS = 30000
local LARGEST_TIME_US = 2 ^ 53
local MINUTE_US = 60000000
local HOUR_US = 3600000000
local DAY_US = 24 * HOUR_US
local ID_TTL_MS = '60000'
local SLOT_LEASE_US = 60000000
local PROBE_US = 10000000 -- how long an admitted probe keeps the others out while nobody reports
local FULL_PACE = 1000
local PACE_STEP = 50 -- by which a pace rises each minute
local SLOWEST_PACE_DIVISOR = 4 -- a refusal slows a bucket down to a quarter of its refill
local MOST_DEBT_MS = 30000 -- of refill: the longest booking
local MOST_MARKS = 30 -- of a project's last day

local LANES = { realtime = true, bulk = true, renewal = true }

-- What the functions use most. The server shows its globals to running functions only, not while the library loads,
-- and looking them up costs as much as many of them: the first call fetches them.
local call, find, format, toNumber, ceil, floor, max, min

local function bindGlobals()
    call, find, format, toNumber = redis.call, string.find, string.format, tonumber
    ceil, floor, max, min = math.ceil, math.floor, math.max, math.min
end

-- Arguments ---------------------------------------------------------------------------------------------------------

-- Never tostring(), which cuts digits off; %d is exact for whole numbers and half as dear as %.0f.
local function text(number)
    return format('%d', number)
end

-- Whole numbers of at most four digits by their texts: costs and waits are the same ones again and again.
local shortNumbers = {}

-- The whole number that an argument stands for; nil for everything else: signs, fractions, exponents, nan, inf, ''.
local function wholeNumber(argument, largest)
    local number = shortNumbers[argument]
    if not number and argument and #argument <= 16 and find(argument, '^%d+$') then
        number = toNumber(argument)
        if #argument <= 4 then
            shortNumbers[argument] = number
        end
    end
    if number and number <= largest then
        return number
    end
end

-- The same of an argument that may be left out or empty: then 0.
local function wholeNumberOrNone(argument, largest)
    if not argument or argument == '' then
        return 0
    end
    return wholeNumber(argument, largest)
end

local function isFamily(argument)
    return #argument <= 40 and find(argument, '^[%w_-]*$') ~= nil
end

local function refuseArgument(sentence)
    return redis.error_reply('TKARG ' .. sentence)
end

local function serverTimeUs()
    local time = call('TIME')
    return time[1] * 1000000 + time[2]
end

-- Registers a function that knows the time; for tests also one with the server's time as the first argument.
local function registerTimed(name, run, flags)
    redis.register_function{
        function_name = name .. '_v1',
        callback = function(keys, args)
            if not call then
                bindGlobals()
            end
            return run(keys, args, serverTimeUs())
        end,
        flags = flags or {},
    }
    redis.register_function{
        function_name = name .. '_at_v1',
        callback = function(keys, args)
            bindGlobals()
            local serverUs = wholeNumber(table.remove(args, 1), LARGEST_TIME_US)
            if not serverUs then
                return refuseArgument('now_us must be microseconds since the epoch')
            end
            return run(keys, args, serverUs)
        end,
        flags = flags or {},
    }
end

-- Policy ------------------------------------------------------------------------------------------------------------

-- The fields of a policy in the order of its field `compiled`, which holds them all in one line.
local COMPILED_FIELDS = {
    'format', 'enforce', 'key_ttl_ms', 'changed_us', 'slots',
    'account_capacity_milli', 'account_refill_per_minute', 'account_reserve_milli', 'account_published',
    'previous_account_capacity_milli', 'previous_account_refill_per_minute',
    'project_capacity_milli', 'project_refill_per_minute', 'project_reserve_milli', 'project_published',
    'previous_project_capacity_milli', 'previous_project_refill_per_minute',
    'day_budget', 'day_action', 'day_start_us', 'day_end_us', 'day_after_us',
}

-- Policies and accounts' own limits by their lines, so that a decision reads two fields and parses nothing.
local parsed, parsedCount = {}, 0
local MOST_PARSED = 1000

local function remember(line, value)
    if parsedCount >= MOST_PARSED then
        parsed, parsedCount = {}, 0
    end
    parsed[line], parsedCount = value, parsedCount + 1
    return value
end

local function numbersOf(line)
    local numbers = {}
    for word in string.gmatch(line, '%d+') do
        numbers[#numbers + 1] = toNumber(word)
    end
    return numbers
end

-- How long a bucket's hash must live after a write: long enough to be full from its deepest debt at the slowest pace,
-- twice over, so that expiry gives nothing away.
local function ttlMs(capacity, refill, keyTtlMs)
    local toFullMs = ceil(capacity * 60 / refill) + MOST_DEBT_MS
    return max(keyTtlMs, 2 * SLOWEST_PACE_DIVISOR * toFullMs)
end

-- The limits of one scope from the numbers f[i] …: capacity, refill, reserve, published, previous capacity, refill.
local function limitsOf(f, i, keyTtlMs)
    return {
        capacity = f[i], refill = f[i + 1], reserve = f[i + 2], published = f[i + 3],
        previousCapacity = f[i + 4], previousRefill = f[i + 5], changedUs = f[4], ttlMs = ttlMs(f[i], f[i + 1], keyTtlMs),
    }
end

local function parsePolicy(compiled)
    local f = numbersOf(compiled)
    local policy = {
        compiled = compiled,
        enforce = f[2] ~= 0,
        keyTtlMs = f[3],
        slots = f[5],
        account = limitsOf(f, 6, f[3]),
        project = limitsOf(f, 12, f[3]),
        day = { budget = f[18] * 1000, action = f[19], startUs = f[20], endUs = f[21], afterUs = f[22] },
    }
    -- The project's hash also counts the day: it must outlive one.
    policy.project.ttlMs = max(policy.project.ttlMs, 26 * HOUR_US / 1000)
    return remember(compiled, policy)
end

-- An account's limits: its own, when the policy has a line of them, replace the policy's at once, because its bucket
-- was brought up to date when they were set.
local function accountLimits(policy, line)
    if not line then
        return policy.account
    end
    local name = policy.compiled .. '|' .. line
    if parsed[name] then
        return parsed[name]
    end
    local f = numbersOf(line)
    return remember(name, {
        capacity = f[1], refill = f[2], reserve = f[3], published = policy.account.published, slots = f[4],
        previousCapacity = f[1], previousRefill = f[2], changedUs = 0, ttlMs = ttlMs(f[1], f[2], policy.keyTtlMs),
    })
end

-- The policy and the account's limits; nil and the error to answer when there is no policy that can be read.
local function readPolicy(key, accountKey)
    local lines = call('HMGET', key, 'compiled', accountKey)
    local compiled = lines[1]
    if not compiled then
        return nil, redis.error_reply('TKPOLICY no policy is published under this key')
    end
    local policy = parsed[compiled]
    if not policy then
        if string.match(compiled, '^%d+') ~= POLICY_FORMAT then
            return nil, redis.error_reply('TKPOLICY the policy has a format that this library does not read')
        end
        policy = parsePolicy(compiled)
    end
    return policy, accountLimits(policy, lines[2])
end

-- Buckets -----------------------------------------------------------------------------------------------------------

-- A bucket as it was last written, without a level when there is none: it is full then. f: its fields.
local function bucketOf(key, f)
    local level = f[1] and toNumber(f[1])
    return {
        key = key, level = level, carry = level and toNumber(f[2]), atUs = level and toNumber(f[3]) or 0, hour = f[4],
        care = f[5], clockOffsetUs = 0,
    }
end

local function readAccount(key)
    return bucketOf(key, call('HMGET', key, 'level_milli', 'carry', 'at_us', 'hour', 'care'))
end

-- With the text of what it used so far, with its day, see dayOf(); and by how much the server's clock was set back.
local function readProject(key)
    local f = call('HMGET', key, 'level_milli', 'carry', 'at_us', 'hour', 'care', 'used_milli', 'day')
    local project = bucketOf(key, f)
    project.used, project.day = f[6] or 0, f[7]
    if project.care then
        project.clockOffsetUs = toNumber(call('HGET', key, 'clock_offset_us') or 0)
    end
    return project
end

-- What a project had used when its day began, and when that ends.
local function dayOf(project)
    local line = project.day
    if not line then
        return 0, 0
    end
    local day = parsed[line] or remember(line, numbersOf(line))
    return day[1], day[2]
end

-- Time that never runs backwards: the server's, plus what it was set back by so far.
local function steadyTimeUs(serverUs, account, project)
    return max(serverUs + project.clockOffsetUs, account.atUs, project.atUs)
end

-- The hash lives for at least aliveMs from now; nothing shortens a life.
local function keepAlive(key, aliveMs)
    if call('PEXPIRE', key, text(aliveMs), 'GT') == 0 then
        call('PEXPIRE', key, text(aliveMs), 'NX')
    end
end

-- What the field `hour` holds once a hash was given the life that these limits need beyond the present hour.
local function hourOf(limits, serverUs)
    local hour = floor(serverUs / HOUR_US)
    if limits.hour ~= hour then
        limits.hour, limits.hourText = hour, text(hour) .. ':' .. text(limits.ttlMs)
    end
    return limits.hourText
end

-- The text of a time, of which a call writes the same more than once.
local lastTimeUs, lastTimeText

local function timeText(us)
    if us ~= lastTimeUs then
        lastTimeUs, lastTimeText = us, text(us)
    end
    return lastTimeText
end

-- Writes a level, and of a project what was used; in each hour that a bucket is used its life is prolonged once.
local function writeLevel(bucket, limits, nowUs, serverUs)
    if bucket.used then
        call('HSET', bucket.key, 'level_milli', text(bucket.level), 'carry', text(bucket.carry), 'at_us',
            timeText(nowUs), 'used_milli', text(bucket.used))
    else
        call('HSET', bucket.key, 'level_milli', text(bucket.level), 'carry', text(bucket.carry), 'at_us',
            timeText(nowUs))
    end
    if bucket.hour ~= hourOf(limits, serverUs) then
        bucket.hour = limits.hourText
        call('HSET', bucket.key, 'format', FORMAT, 'hour', bucket.hour)
        keepAlive(bucket.key, limits.ttlMs + HOUR_US / 1000)
    end
end

-- Remembers a step back of the server's clock: the only write that a refusal may make. A grant of before the step is
-- dated with the offset of then, see grantTimeUs().
local function keepClockOffset(project, nowUs, serverUs, aliveMs)
    call('HSET', project.key, 'format', FORMAT, 'care', '1', 'clock_offset_us', text(nowUs - serverUs),
        'previous_offset_us', text(project.clockOffsetUs), 'stepped_us', text(nowUs))
    call('HINCRBY', project.key, 'clock_steps', '1')
    project.clockOffsetUs = nowUs - serverUs
    keepAlive(project.key, aliveMs)
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

-- Milliseconds, rounded up, in which `refill` brings this many milli-units.
local function msToRefill(milli, refill)
    return milli > 0 and ceil(milli * 60 / refill) or 0
end

-- Freezes and pace --------------------------------------------------------------------------------------------------
-- What a bucket's hash holds only while its field `care` is there: see tidekeeper_report_v1.

local FREEZE_FIELDS = { 'frozen', 'frozen_since_us', 'frozen_until_us', 'frozen_count', 'probe_us' }

-- The name of a freeze's field: that of all calls has no family.
local function ofFamily(field, family)
    return family == '' and field or field .. ':' .. family
end

local function readFreeze(key, family)
    local names = {}
    for i, field in ipairs(FREEZE_FIELDS) do
        names[i] = ofFamily(field, family)
    end
    local f = call('HMGET', key, unpack(names))
    return {
        family = family, frozen = f[1] == '1', sinceUs = toNumber(f[2]) or 0, untilUs = toNumber(f[3]) or 0,
        count = toNumber(f[4]) or 0, probeUs = toNumber(f[5]) or 0,
    }
end

local function readPace(bucket)
    local f = call('HMGET', bucket.key, 'pace', 'pace_us')
    bucket.pace, bucket.paceUs = toNumber(f[1]) or FULL_PACE, toNumber(f[2]) or 0
end

-- 1 … 1000. A pace begins to rise a minute after paceUs.
local function paceAt(bucket, us)
    local minutes = max(0, floor((us - bucket.paceUs) / MINUTE_US))
    return min(FULL_PACE, bucket.pace + PACE_STEP * minutes)
end

local function slowedDown(refill, pace)
    return max(1, floor(refill * pace / FULL_PACE))
end

-- As refilled(), from one instant to another; at the pace of each minute in between when the bucket has one. Also
-- without any time in between a lowered capacity cuts the level.
local function refilledBetween(bucket, level, carry, fromUs, toUs, refill, capacity)
    if not bucket.care or fromUs >= toUs then
        return refilled(level, carry, toUs - fromUs, refill, capacity)
    end
    while fromUs < toUs do
        local pace, stepUs = paceAt(bucket, fromUs), toUs
        if pace < FULL_PACE then
            local minutes = max(0, floor((fromUs - bucket.paceUs) / MINUTE_US))
            stepUs = min(toUs, bucket.paceUs + (minutes + 1) * MINUTE_US)
        end
        level, carry = refilled(level, carry, stepUs - fromUs, slowedDown(refill, pace), capacity)
        fromUs = stepUs
    end
    return level, carry
end

-- For how many ms a freeze refuses calls; nil when it does not. `asProbe` when a call that is charged passes as the one
-- that finds out whether the API answers again.
local function frozenForMs(freeze, nowUs)
    if not freeze.frozen then
        return nil
    end
    if nowUs < freeze.untilUs then
        return ceil((freeze.untilUs - nowUs) / 1000)
    end
    if freeze.probeUs == 0 then
        freeze.asProbe = true
        return nil
    end
    if nowUs < freeze.probeUs + PROBE_US then
        return ceil((freeze.probeUs + PROBE_US - nowUs) / 1000)
    end
end

-- Whether there are calls that this freeze refuses: until its time is over, then all but its probe.
local function refusesCalls(freeze, nowUs)
    return freeze.frozen and (freeze.probeUs == 0 or nowUs < freeze.probeUs + PROBE_US)
end

-- Reads what holds for calls of this family besides the level: pace and freezes.
local function readCare(bucket, family)
    readPace(bucket)
    bucket.freezes = { readFreeze(bucket.key, '') }
    if family ~= '' then
        bucket.freezes[2] = readFreeze(bucket.key, family)
    end
end

-- The families that were frozen and are not forgotten yet.
local function familiesOf(bucket)
    local families = {}
    for family in string.gmatch(call('HGET', bucket.key, 'families') or '', '%S+') do
        families[#families + 1] = family
    end
    return families
end

-- A minute after the last freeze, at full pace, there is nothing left to care for.
local function forgetWhenCalm(bucket, nowUs)
    if paceAt(bucket, nowUs) < FULL_PACE then
        return
    end
    local fields, families = { 'care', 'pace', 'pace_us', 'families' }, familiesOf(bucket)
    families[#families + 1] = ''
    for _, family in ipairs(families) do
        local freeze = readFreeze(bucket.key, family)
        if freeze.frozen or nowUs <= freeze.untilUs + MINUTE_US then
            return
        end
        for _, field in ipairs(FREEZE_FIELDS) do
            fields[#fields + 1] = ofFamily(field, family)
        end
    end
    call('HDEL', bucket.key, unpack(fields))
    if bucket.clockOffsetUs > 0 then
        call('HSET', bucket.key, 'care', '1')
    end
end

-- A granted call was the probe, or came after a probe's silence: then the freeze is over.
local function writeCare(bucket, nowUs)
    for _, freeze in ipairs(bucket.freezes) do
        if freeze.asProbe then
            call('HSET', bucket.key, ofFamily('probe_us', freeze.family), text(nowUs))
        elseif freeze.frozen then
            call('HDEL', bucket.key, ofFamily('frozen', freeze.family))
        end
    end
    forgetWhenCalm(bucket, nowUs)
end
