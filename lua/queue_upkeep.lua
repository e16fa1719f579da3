-- SPDX-License-Identifier: Apache-2.0
--
-- The second part of the library tidekeeper_queue, after queue.lua whose local functions it uses: dead letters,
-- counts and housekeeping.

-- Dead letters ------------------------------------------------------------------------------------------------

register('tidekeeper_dead_v1', 'no-writes', function(keys, args)
    local k, set = places(keys[1]), args[1]
    local group, from, limit = args[2], whole(args[3], 'cursor'), whole(args[4], 'limit')
    local scanned = redis.call('ZREVRANGE', k[set], from, from + 999)
    local jobs, at = {}, from
    for _, id in ipairs(scanned) do
        if #jobs == limit then
            break
        end
        at = at + 1
        local own = redis.call('HGET', k.job .. id, 'group') or ''
        if group == '' or own == group or string.sub(own, 1, #group + 1) == group .. ':' then
            local full = args[5] ~= 'ids'
            jobs[#jobs + 1] = full
                and {id, redis.call('HGETALL', k.job .. id), redis.call('LRANGE', k.log .. id, 0, -1)} or {id}
        end
    end
    local total = redis.call('ZCARD', k[set])
    return {jobs, at < total and text(at) or '', total, redis.call('HGETALL', k.groups)}
end)

-- args: dry ("1" = only look), then ids. Runs move(k, now, id, fields) for each id that is in this state; answers one
-- word for each id.
local function forEach(keys, args, state, move)
    local k, now, words = places(keys[1]), nowMs(), {}
    for i = 2, #args do
        local id = args[i]
        local f = redis.call('HMGET', k.job .. id, 'state', 'lane', 'dedupe', 'group')
        if f[1] ~= state then
            words[#words + 1] = 'missing'
        else
            words[#words + 1] = args[1] == '1' and 'found'
                or move(k, now, id, {lane = f[2], dedupe = f[3], group = f[4]})
        end
    end
    return words
end

redis.register_function('tidekeeper_dead_requeue_v1', function(keys, args)
    return forEach(keys, args, 'dead', function(k, now, id, f)
        local live = f.dedupe ~= '' and redis.call('HGET', k.dedupe, f.dedupe)
        if live and redis.call('EXISTS', k.job .. live) == 1 then
            return 'already_live'
        end
        if f.dedupe ~= '' then
            redis.call('HSET', k.dedupe, f.dedupe, id)
        end
        redis.call('HSET', k.job .. id, 'starts', '0', 'attempts', '0', 'deferrals', '0', 'enqueued_at', text(now))
        logEnd(k, id, now, 'requeued', '', '')
        putWaiting(k, id, f.lane)
        redis.call('ZREM', k.dead, id)
        countGroup(k, f.group, -1)
        return 'requeued'
    end)
end)

redis.register_function('tidekeeper_dead_discard_v1', function(keys, args)
    return forEach(keys, args, 'dead', function(k, now, id, f)
        redis.call('ZADD', k.discarded, text(now), id)
        redis.call('HSET', k.job .. id, 'state', 'discarded')
        redis.call('ZREM', k.dead, id)
        countGroup(k, f.group, -1)
        return 'discarded'
    end)
end)

redis.register_function('tidekeeper_dead_restore_v1', function(keys, args)
    return forEach(keys, args, 'discarded', function(k, now, id, f)
        redis.call('ZADD', k.dead, redis.call('HGET', k.job .. id, 'died_at'), id)
        redis.call('HSET', k.job .. id, 'state', 'dead')
        redis.call('ZREM', k.discarded, id)
        countGroup(k, f.group, 1)
        return 'restored'
    end)
end)

-- Housekeeping ------------------------------------------------------------------------------------------------

local function forgetConsumer(stream, name, pending)
    if pending == 0 then
        redis.call('XGROUP', 'DELCONSUMER', stream, GROUP, name)
        return 1
    end
    return 0
end

local function consumers(stream)
    local list = redis.pcall('XINFO', 'CONSUMERS', stream, GROUP)
    local found = {}
    for _, flat in ipairs(list.err and {} or list) do
        local c = {}
        for i = 1, #flat, 2 do
            c[flat[i]] = flat[i + 1]
        end
        found[#found + 1] = c
    end
    return found
end

-- Pending entries that no lease covers, made by something that is not this library: a lease that ended long ago.
local function coverPending(k, lane, idle)
    local covered = 0
    local pending = redis.pcall('XPENDING', k[lane], GROUP, 'IDLE', idle, '-', '+', 100)
    for _, p in ipairs(pending.err and {} or pending) do
        local found = redis.call('XRANGE', k[lane], p[1], p[1])
        local id = found[1] and found[1][2][2]
        if not id or redis.call('HGET', k.job .. id, 'entry') ~= p[1] then
            dropEntry(k, lane, p[1])
        elseif not redis.call('ZSCORE', k.claimed, id) and not redis.call('ZSCORE', k.running, id) then
            redis.call('ZADD', k.claimed, 0, id)
            covered = covered + 1
        end
    end
    return covered
end

register('tidekeeper_reap_v1', 'allow-oom', function(keys, args)
    local k, now, covered, orphans = places(keys[1]), nowMs(), 0, 0
    for _, lane in ipairs(LANES) do
        covered = covered + coverPending(k, lane, whole(args[2], 'idle_ms'))
        for _, c in ipairs(consumers(k[lane])) do
            if c.idle > IDLE_CONSUMER_MS then
                forgetConsumer(k[lane], c.name, c.pending)
            end
        end
    end
    local scan = redis.call('HSCAN', k.dedupe, args[1], 'COUNT', 500)
    for i = 1, #scan[2], 2 do
        if redis.call('EXISTS', k.job .. scan[2][i + 1]) == 0 then
            redis.call('HDEL', k.dedupe, scan[2][i])
            orphans = orphans + 1
        end
    end
    local old = redis.call('ZRANGEBYSCORE', k.discarded, '-inf', text(now - RESTORE_MS), 'LIMIT', 0, 500)
    for _, id in ipairs(old) do
        redis.call('DEL', k.job .. id, k.log .. id)
        redis.call('ZREM', k.discarded, id)
    end
    return {scan[1], orphans, covered, #old}
end)

register('tidekeeper_leave_v1', 'allow-oom', function(keys, args)
    local k, gone = places(keys[1]), 1
    for _, lane in ipairs(LANES) do
        for _, c in ipairs(consumers(k[lane])) do
            if c.name == args[1] then
                gone = math.min(gone, forgetConsumer(k[lane], c.name, c.pending))
            end
        end
    end
    return gone
end)

local function waitingIn(stream, now)
    local pending = redis.pcall('XPENDING', stream, GROUP)
    local inHandsCount = pending.err and 0 or pending[1]
    local length = redis.call('XLEN', stream)
    local after = '-'
    local groups = redis.pcall('XINFO', 'GROUPS', stream)
    for i = 1, groups[1] and #groups[1] or 0, 2 do
        after = groups[1][i] == 'last-delivered-id' and '(' .. groups[1][i + 1] or after
    end
    local first = redis.call('XRANGE', stream, after, '+', 'COUNT', 1)
    local age = first[1] and now - tonumber(string.match(first[1][1], '^%d+')) or 0
    return length - inHandsCount, age
end

register('tidekeeper_counts_v1', 'no-writes', function(keys, args)
    local k, now = places(keys[1]), nowMs()
    local urgent, urgentAge = waitingIn(k.urgent, now)
    local normal, normalAge = waitingIn(k.normal, now)
    return {urgent, normal, redis.call('ZCARD', k.delayed), redis.call('ZCARD', k.claimed),
        redis.call('ZCARD', k.running), redis.call('ZCARD', k.dead), redis.call('ZCARD', k.discarded),
        math.max(0, urgentAge, normalAge), tonumber(redis.call('GET', k.lost) or '0')}
end)

-- Schedules ---------------------------------------------------------------------------------------------------

-- args: schedule ids → for each {nominal, fired_at, result, job}, empty strings where nothing is known
register('tidekeeper_schedules_v1', 'no-writes', function(keys, args)
    local k, states = places(keys[1]), {}
    for i, id in ipairs(args) do
        local f = redis.call('HMGET', k.schedule .. id, 'nominal', 'fired_at', 'result', 'job')
        states[i] = {f[1] or '', f[2] or '', f[3] or '', f[4] or ''}
    end
    return states
end)
