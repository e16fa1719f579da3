-- SPDX-License-Identifier: Apache-2.0
--
-- The last part of the library tidekeeper_quota: limits published and changed, what was used while Redis was away, and
-- what the buckets hold.

-- What a policy consists of, with the largest value of each. All but those of DEFAULTS have to be given; the smallest
-- is 1, of reserves, enforce and what has a default 0.
local POLICY_FIELDS = {
    account_capacity_milli = 1e12, account_refill_per_minute = 1e9, account_reserve_milli = 1e12,
    project_capacity_milli = 1e12, project_refill_per_minute = 1e9, project_reserve_milli = 1e12,
    key_ttl_ms = 1e12, enforce = 1, slots = 1000, account_published = 1e9, project_published = 1e9,
    day_budget = 1e12, day_action = 2, day_start_us = LARGEST_TIME_US, day_end_us = LARGEST_TIME_US,
    day_after_us = LARGEST_TIME_US,
}
local DEFAULTS = {
    slots = '10', account_published = '0', project_published = '0', day_budget = '0', day_action = '0',
    day_start_us = '0', day_end_us = '0', day_after_us = '0',
}
local LIMIT_FIELDS = {
    'account_capacity_milli', 'account_refill_per_minute', 'project_capacity_milli', 'project_refill_per_minute',
}
local MOST_BOOKED_ACCOUNTS = 1000
local MOST_ROWS = 1000

-- Publishing --------------------------------------------------------------------------------------------------------

-- The fields by name, or nil and the error to answer.
local function readPublishedFields(args)
    local given = {}
    for i = 1, #args, 2 do
        local name, largest = args[i], POLICY_FIELDS[args[i]]
        local value = largest and wholeNumber(args[i + 1], largest)
        local mayBeZero = DEFAULTS[name] or name == 'enforce' or find(name, '_reserve_')
        if not value or (value == 0 and not mayBeZero) then
            return nil, refuseArgument(name .. ' is unknown or out of range')
        end
        given[name] = text(value)
    end
    for name in pairs(POLICY_FIELDS) do
        given[name] = given[name] or DEFAULTS[name]
        if not given[name] then
            return nil, refuseArgument(name .. ' is missing')
        end
    end
    return given
end

local function readHash(key)
    local flat, fields = call('HGETALL', key), {}
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
    given.format = POLICY_FORMAT
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

-- Stores a policy, without expiry: 1 when that changed anything, 0 when it stood there already; then now_us. Accounts'
-- own limits stay.
local function publish(keys, args, serverUs)
    if #keys ~= 2 then
        return refuseArgument('keys must be policy, project')
    end
    local given, failure = readPublishedFields(args)
    if not given then
        return failure
    end
    local policyKey, project = keys[1], readProject(keys[2])
    local old = readHash(policyKey)
    local changed = old.format ~= POLICY_FORMAT
    if changed then
        old = { changed_us = '0' } -- nothing came before: the first limits count as the previous ones too
        for _, name in ipairs(LIMIT_FIELDS) do
            old[name], old['previous_' .. name] = given[name], given[name]
        end
    end
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
    call('HSET', policyKey, unpack(words))
    return { 1, serverUs }
end

-- Gives an account limits of its own, or the policy's again. Its bucket is brought up to date under the limits until
-- now, so that a raised capacity leaves the level where it was.
local function override(keys, args, serverUs)
    if #keys ~= 3 or (#args ~= 0 and #args ~= 4) then
        return refuseArgument('keys must be account, project, policy and the arguments capacity_milli, '
            .. 'refill_per_minute, reserve_milli, slots or none')
    end
    local ranges = { { 'capacity_milli', 1, 1e12 }, { 'refill_per_minute', 1, 1e9 }, { 'reserve_milli', 0, 1e12 },
        { 'slots', 1, 1000 } }
    for i, range in ipairs(#args > 0 and ranges or {}) do
        local value = wholeNumber(args[i], range[3])
        if not value or value < range[2] then
            return refuseArgument(range[1] .. ' is out of range')
        end
    end
    local policy, limits = readPolicy(keys[3], keys[1])
    if not policy then
        return limits
    end
    local own = #args > 0 and table.concat(args, ' ') or false
    if own == call('HGET', keys[3], keys[1]) then
        return { 0, serverUs }
    end
    local account, _, nowUs = readBuckets(keys, policy, limits, '', serverUs)
    if own then
        call('HSET', keys[3], keys[1], own)
    else
        call('HDEL', keys[3], keys[1])
    end
    local _, newLimits = readPolicy(keys[3], keys[1])
    writeLevel(account, newLimits, nowUs, serverUs)
    return { 1, serverUs }
end

-- Takes what was used while nobody could ask.
local function settle(keys, args, serverUs)
    local accountMilli, projectMilli = wholeNumber(args[1], 1e15), wholeNumber(args[2], 1e15)
    if #keys ~= 3 or #args ~= 2 then
        return refuseArgument('keys must be account, project, policy and the arguments account and project milli-units')
    end
    if not accountMilli or not projectMilli then
        return refuseArgument((accountMilli and 'project' or 'account')
            .. ' must be a whole number of milli-units from 0 to 1000000000000000')
    end
    local policy, limits = readPolicy(keys[3], keys[1])
    if not policy then
        return limits
    end
    local account, project, nowUs = readBuckets(keys, policy, limits, '', serverUs)
    local function lowered(level, milli, refill)
        return min(level, max(level - milli, -floor(refill * MOST_DEBT_MS / 60)))
    end
    if accountMilli > 0 then
        account.level = lowered(account.level, accountMilli, account.refill)
        writeLevel(account, limits, nowUs, serverUs)
    end
    if projectMilli > 0 then
        -- Nobody knows what is of before: when the day has turned meanwhile, all of it counts for today.
        project.level = lowered(project.level, projectMilli, project.refill)
        writeProject(project, policy, projectMilli, nowUs, serverUs)
    end
    return { account.level, project.level, serverUs }
end

-- Levels ------------------------------------------------------------------------------------------------------------

-- What a bucket holds now, see README.md; offsetUs turns the buckets' time into the server's.
local function rowOf(bucket, limits, nowUs, offsetUs)
    local row = { bucket.level, limits.capacity, bucket.refill, FULL_PACE, 0, 0, '' }
    if bucket.care then
        local freeze = bucket.freezes[1]
        row[4] = paceAt(bucket, nowUs)
        if refusesCalls(freeze, nowUs) then
            row[5] = freeze.untilUs - offsetUs
            row[6] = freeze.probeUs > 0 and 1 or 0
        end
        local words = {}
        for _, family in ipairs(familiesOf(bucket)) do
            freeze = readFreeze(bucket.key, family)
            if refusesCalls(freeze, nowUs) then
                words[#words + 1] = family .. ' ' .. text(freeze.untilUs - offsetUs)
            end
        end
        row[7] = table.concat(words, ' ')
    end
    return row
end

-- The members' limits, in their order.
local function limitsOfMembers(scope, policy, members)
    local keys = {}
    for i, member in ipairs(members) do
        keys[i] = scope.prefix .. 'account:' .. member
    end
    local lines, limits = #keys > 0 and call('HMGET', scope.policyKey, unpack(keys)) or {}, {}
    for i = 1, #keys do
        limits[i] = accountLimits(policy, lines[i])
    end
    return limits
end

local function accountRow(scope, member, policy, limits, project, serverUs)
    local account = readAccount(scope.prefix .. 'account:' .. member)
    local nowUs = steadyTimeUs(serverUs, account, project)
    if account.care then
        readCare(account, '')
    end
    advance(account, limits, nowUs)
    local row = rowOf(account, limits, nowUs, project.clockOffsetUs)
    row[8] = member
    row[9] = call('ZCOUNT', scope.prefix .. 'slots:' .. member, '(' .. text(nowUs), '+inf')
    row[10] = limits ~= policy.account and 1 or 0
    return row
end

-- The sum of the levels below zero, from the times at which the buckets will be full: of those with limits of their
-- own, which take longer or shorter to be, from the buckets.
local function bookedMilli(scope, policy, project, serverUs)
    local emptyAtMs = serverUs / 1000 + policy.account.capacity * 60 / policy.account.refill
    local late = call('ZREVRANGEBYSCORE', scope.activeKey, '+inf', '(' .. text(emptyAtMs), 'WITHSCORES',
        'LIMIT', '0', text(MOST_BOOKED_ACCOUNTS))
    local members, sum = {}, 0
    for i = 1, #late, 2 do
        members[#members + 1] = late[i]
    end
    for i, limits in ipairs(limitsOfMembers(scope, policy, members)) do
        if limits == policy.account then
            sum = sum + (late[2 * i] - emptyAtMs) * limits.refill / 60
        else
            sum = sum + max(0, -accountRow(scope, members[i], policy, limits, project, serverUs)[1])
        end
    end
    return floor(sum)
end

local function projectRow(scope, project, policy, serverUs)
    local nowUs = steadyTimeUs(serverUs, project, project)
    if project.care then
        readCare(project, '')
    end
    advance(project, policy.project, nowUs)
    local row = rowOf(project, policy.project, nowUs, project.clockOffsetUs)
    local f = call('HMGET', project.key, 'marks', 'refused_units', 'refused_calls', 'clock_steps')
    local base, endUs = dayOf(project)
    if nowUs >= endUs then
        base, endUs = project.used, dayEndUs(policy.day, nowUs)
    end
    local rest = {
        floor(project.used / 1000), floor(base / 1000), endUs, f[1] or '', toNumber(f[2] or 0), toNumber(f[3] or 0),
        toNumber(f[4] or 0), bookedMilli(scope, policy, project, serverUs),
    }
    for i, value in ipairs(rest) do
        row[7 + i] = value
    end
    return row
end

-- The accounts asked for, or nil and the error to answer.
local function readMembers(args, activeKey)
    if args[1] == 'of' then
        if #args > 1 + MOST_ROWS then
            return nil, refuseArgument('account must be given at most 1000 times')
        end
        return { unpack(args, 2) }
    end
    local offset, count = wholeNumber(args[2], LARGEST_COST), wholeNumber(args[3], MOST_ROWS)
    if args[1] ~= 'top' or #args > 3 then
        return nil, refuseArgument('arguments must be top, offset, count or of, account …')
    end
    if not offset then
        return nil, refuseArgument('offset must be a whole number from 0 to 1000000000')
    end
    if not count then
        return nil, refuseArgument('count must be a whole number from 0 to 1000')
    end
    return count > 0 and call('ZREVRANGE', activeKey, text(offset), text(offset + count - 1)) or {}
end

local function levels(keys, args, serverUs)
    local scope = { prefix = string.match(keys[1] or '', '^(.*)project$'), policyKey = keys[2], activeKey = keys[3] }
    if #keys ~= 3 or not scope.prefix then
        return refuseArgument('keys must be project, policy, active')
    end
    local members, failure = readMembers(args, scope.activeKey)
    if not members then
        return failure
    end
    local policy, unreadable = readPolicy(scope.policyKey, '')
    if not policy then
        return unreadable
    end
    local project, rows = readProject(keys[1]), {}
    for i, limits in ipairs(limitsOfMembers(scope, policy, members)) do
        rows[i] = accountRow(scope, members[i], policy, limits, project, serverUs)
    end
    local total = call('ZCARD', scope.activeKey)
    return { serverUs, projectRow(scope, project, policy, serverUs), total, rows }
end

registerTimed('tidekeeper_publish', publish)
registerTimed('tidekeeper_override', override)
registerTimed('tidekeeper_settle', settle)
registerTimed('tidekeeper_levels', levels, { 'no-writes' })
