-- SPDX-License-Identifier: Apache-2.0
--
-- The third part of the library tidekeeper_quota: what the API answered, and what was never sent to it.

local SHORTEST_FREEZE_MS = 1000
local LONGEST_BACKOFF_MS = 64000
local LONGEST_FREEZE_MS = 24 * 3600000
local TOLD_US = HOUR_US -- how long a limit that the API stated is believed
local REFUND_US = 60000000

-- When a grant was made, by the buckets' time. For two minutes after the server's clock stepped back nobody can tell
-- whether that was before or after the step: then `unsure`, and the earlier of both.
local function grantTimeUs(project, grantUs, nowUs)
    if project.clockOffsetUs > 0 then
        local f = call('HMGET', project.key, 'stepped_us', 'previous_offset_us')
        if nowUs - (toNumber(f[1]) or 0) < 2 * MINUTE_US then
            return grantUs + (toNumber(f[2]) or 0), true
        end
    end
    return grantUs + project.clockOffsetUs, false
end

-- Report ------------------------------------------------------------------------------------------------------------

local function readReport(keys, args)
    if #keys ~= 3 or #args < 4 or #args > 7 then
        return nil, refuseArgument('keys must be account, project, policy and the arguments verdict, scope, family, '
            .. 'retry_after_ms [, grant_us [, cost [, told_limit]]]')
    end
    local rate = args[1] == 'rate'
    if not rate and args[1] ~= 'ok' then
        return nil, refuseArgument('verdict must be ok or rate')
    end
    if rate and args[2] ~= 'account' and args[2] ~= 'project' then
        return nil, refuseArgument('scope must be account or project')
    end
    if not isFamily(args[3]) then
        return nil, refuseArgument('family must be at most 40 letters, digits, _ or -')
    end
    local numbers = {}
    for i, name in ipairs({ 'retry_after_ms', 'grant_us', 'cost', 'told_limit' }) do
        numbers[name] = wholeNumberOrNone(args[3 + i], name == 'cost' and LARGEST_COST or LARGEST_TIME_US)
        if not numbers[name] then
            return nil, refuseArgument(name .. ' must be a whole number')
        end
    end
    return {
        rate = rate, scope = args[2], family = args[3], retryAfterMs = numbers.retry_after_ms,
        grantUs = numbers.grant_us, cost = numbers.cost, toldLimit = numbers.told_limit,
    }
end

-- The families whose freeze waits for the answer to this grant's call; without a grant, to any call.
local function probed(bucket, grantUs)
    local families, waiting = familiesOf(bucket), {}
    families[#families + 1] = ''
    for _, family in ipairs(families) do
        local freeze = readFreeze(bucket.key, family)
        if freeze.frozen and freeze.probeUs > 0 and (not grantUs or grantUs == freeze.probeUs) then
            waiting[#waiting + 1] = family
        end
    end
    return waiting
end

-- A good answer ends the freezes that waited for it. Under a limit that the API stated, what refilled meanwhile would be
-- more than that allows: it begins empty.
local function endProbes(bucket, grantUs, nowUs)
    for _, family in ipairs(probed(bucket, grantUs)) do
        call('HDEL', bucket.key, ofFamily('frozen', family), ofFamily('probe_us', family))
        if family == '' and bucket.pace < FULL_PACE / SLOWEST_PACE_DIVISOR then
            call('HSET', bucket.key, 'level_milli', text(min(bucket.level, 0)), 'carry', '0', 'at_us', text(nowUs))
        end
    end
end

-- A probe that was never sent leaves its place to the next call.
local function freeProbes(bucket, grantUs)
    if bucket.care then
        for _, family in ipairs(probed(bucket, grantUs)) do
            call('HSET', bucket.key, ofFamily('probe_us', family), '0')
        end
    end
end

-- How long a freeze shall last: what the API said, or a back-off that doubles with each refusal in a row.
local function freezeMs(retryAfterMs, count)
    if retryAfterMs > 0 then
        return min(max(retryAfterMs, SHORTEST_FREEZE_MS), LONGEST_FREEZE_MS)
    end
    return min(LONGEST_BACKOFF_MS, SHORTEST_FREEZE_MS * 2 ^ min(count - 1, 10))
end

-- The pace after a refusal. A stated limit below the published one is the pace for an hour.
local function slowDown(bucket, limits, toldLimit, nowUs)
    local pace = paceAt(bucket, nowUs)
    local told = limits.published > 0 and floor(toldLimit * FULL_PACE / limits.published) or 0
    if told > 0 and told < pace then
        bucket.pace, bucket.paceUs = told, nowUs + TOLD_US
        return
    end
    local slowest = min(pace, FULL_PACE / SLOWEST_PACE_DIVISOR)
    bucket.pace, bucket.paceUs = max(slowest, floor(pace * 7 / 10)), max(bucket.paceUs, nowUs)
end

-- When the pace is back at the full one.
local function fullPaceUs(bucket)
    return bucket.paceUs + ceil((FULL_PACE - bucket.pace) / PACE_STEP) * MINUTE_US
end

local function writeFreeze(bucket, freeze, family)
    local names = { 'frozen', '1', 'frozen_since_us', text(freeze.sinceUs), 'frozen_until_us', text(freeze.untilUs),
        'frozen_count', text(freeze.count), 'probe_us', '0' }
    for i = 1, #names, 2 do
        names[i] = ofFamily(names[i], family)
    end
    call('HSET', bucket.key, 'care', '1', unpack(names))
    if family == '' then
        return
    end
    local families = familiesOf(bucket)
    for _, known in ipairs(families) do
        if known == family then
            return
        end
    end
    families[#families + 1] = family
    call('HSET', bucket.key, 'families', table.concat(families, ' '))
end

-- Freezes a scope for every consumer. A refusal of a call from before the freeze is part of what began it: it makes
-- it longer when the API asks for that, and nothing else.
local function freezeScope(bucket, limits, report, grantUs, nowUs, serverUs)
    if not bucket.care then
        readPace(bucket)
    end
    local freeze = readFreeze(bucket.key, report.family)
    local known = freeze.untilUs > 0
        and ((freeze.frozen and nowUs < freeze.untilUs) or (grantUs ~= nil and grantUs < freeze.sinceUs))
    if known then
        local untilUs = report.retryAfterMs > 0 and nowUs + freezeMs(report.retryAfterMs, 1) * 1000 or 0
        if untilUs <= freeze.untilUs then
            return freeze, false
        end
        freeze.untilUs = untilUs
    else
        local inARow = freeze.untilUs > 0 and nowUs - freeze.untilUs < MINUTE_US
        freeze.count = inARow and freeze.count + 1 or 1
        freeze.sinceUs, freeze.untilUs = nowUs, nowUs + freezeMs(report.retryAfterMs, freeze.count) * 1000
        if report.family == '' then
            slowDown(bucket, limits, report.toldLimit, nowUs)
            bucket.level = min(bucket.level, 0)
            call('HSET', bucket.key, 'level_milli', text(bucket.level), 'carry', text(bucket.carry), 'at_us',
                text(nowUs), 'pace', text(bucket.pace), 'pace_us', text(bucket.paceUs))
        end
    end
    writeFreeze(bucket, freeze, report.family)
    local calmUs = max(freeze.untilUs, fullPaceUs(bucket)) + MINUTE_US
    keepAlive(bucket.key, max(limits.ttlMs, ceil((calmUs - nowUs) / 1000)))
    return freeze, true
end

local function report(keys, args, serverUs)
    local answer, failure = readReport(keys, args)
    if not answer then
        return failure
    end
    local policy, limits = readPolicy(keys[3], keys[1])
    if not policy then
        return limits
    end
    local account, project, nowUs = readBuckets(keys, policy, limits, '', serverUs)
    local grantUs, unsure = nil, false
    if answer.grantUs > 0 then
        grantUs, unsure = grantTimeUs(project, answer.grantUs, nowUs)
        grantUs = not unsure and grantUs or nil
    end
    if not answer.rate then
        for _, bucket in ipairs({ account, project }) do
            if bucket.care then
                endProbes(bucket, grantUs, nowUs)
            end
        end
        return { 0, 0, 0, FULL_PACE, serverUs }
    end
    call('HINCRBY', project.key, 'refused_calls', '1')
    call('HINCRBY', project.key, 'refused_units', text(answer.cost))
    keepAlive(project.key, policy.project.ttlMs)
    local bucket = answer.scope == 'project' and project or account
    limits = answer.scope == 'project' and policy.project or limits
    local freeze, changed = freezeScope(bucket, limits, answer, grantUs, nowUs, serverUs)
    return { changed and 1 or 0, freeze.untilUs - project.clockOffsetUs,
        max(0, ceil((freeze.untilUs - nowUs) / 1000)), paceAt(bucket, nowUs), serverUs }
end

-- Refund ------------------------------------------------------------------------------------------------------------

-- What a bucket gets back of a cost: what has refilled since the grant has come back by itself.
local function partBack(cost, bucket, limits, grantUs, untilUs)
    local refill = grantUs < limits.changedUs and max(limits.refill, limits.previousRefill) or limits.refill
    local back = max(0, cost - ceil((untilUs - grantUs) * refill / PARTS))
    return min(back, limits.capacity - bucket.level)
end

local function refund(keys, args, serverUs)
    local cost, grantUs = wholeNumber(args[1], LARGEST_COST), wholeNumber(args[2], LARGEST_TIME_US)
    if (#keys ~= 4 and #keys ~= 5) or #args ~= 2 then
        return refuseArgument('keys must be account, project, policy, refund [, id] and the arguments cost, grant_us')
    end
    if not cost then
        return refuseArgument('cost must be a whole number of units from 0 to 1000000000')
    end
    if not grantUs then
        return refuseArgument('grant_us must be microseconds since the epoch')
    end
    local policy, limits = readPolicy(keys[3], keys[1])
    if not policy then
        return limits
    end
    if call('EXISTS', keys[4]) == 1 then
        return { 0, 0, 0, 'already', serverUs }
    end
    local account, project, nowUs = readBuckets(keys, policy, limits, '', serverUs)
    local grantedUs = grantTimeUs(project, grantUs, nowUs)
    if nowUs < grantedUs or nowUs - grantedUs > REFUND_US then
        return { 0, 0, 0, 'late', serverUs }
    end
    cost = cost * 1000
    local untilUs = max(nowUs, bookedUntilUs(account))
    local accountBack = partBack(cost, account, limits, grantedUs, untilUs)
    local projectBack = partBack(cost, project, policy.project, grantedUs, untilUs)
    call('SET', keys[4], '1', 'PX', ID_TTL_MS)
    if keys[5] then
        call('DEL', keys[5])
    end
    account.level, project.level = account.level + accountBack, project.level + projectBack
    writeLevel(account, limits, nowUs, serverUs)
    writeProject(project, policy, -cost, nowUs, serverUs)
    freeProbes(account, grantedUs)
    freeProbes(project, grantedUs)
    return { 1, accountBack, projectBack, '', serverUs }
end

registerTimed('tidekeeper_report', report)
registerTimed('tidekeeper_refund', refund)
