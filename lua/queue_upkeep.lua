-- SPDX-License-Identifier: Apache-2.0
--
-- The third part of the library tidekeeper_queue, after queue.lua and queue_work.lua whose local functions it uses:
-- dead letters, counts, housekeeping and the reading of the history.

local RESTORE_MS = 24 * 3600 * 1000
local IDLE_CONSUMER_MS = 3600 * 1000
local HISTORY_SCAN = 1000
local MOST_GROUPS = 1000

-- Dead letters ------------------------------------------------------------------------------------------------

-- {{group, count, first died_at, last died_at}, …}, not more than one call can look at
local function groupsOf(k, set)
    local groups = redis.call('SRANDMEMBER', k.groups .. set, MOST_GROUPS)
    for i, group in ipairs(groups) do
        local key = k.group .. set .. ':' .. group
        local first = redis.call('ZRANGE', key, 0, 0, 'WITHSCORES')
        local last = redis.call('ZRANGE', key, -1, -1, 'WITHSCORES')
        groups[i] = {group, redis.call('ZCARD', key), first[2] or '', last[2] or ''}
    end
    return groups
end

register('tidekeeper_dead_v1', 'no-writes', function(keys, args)
    local k, set = places(keys[1]), args[1]
    local group, from, limit = args[2], whole(args[3], 'cursor'), whole(args[4], 'limit')
    local scanned = redis.call('ZREVRANGE', k[set], from, from + 999)
    local jobs, at, full = {}, from, args[5] ~= 'ids'
    for _, id in ipairs(scanned) do
        if #jobs == limit then
            break
        end
        at = at + 1
        local own = redis.call('HGET', k.job .. id, 'group') or ''
        if group == '' or own == group or string.sub(own, 1, #group + 1) == group .. ':' then
            jobs[#jobs + 1] = full
                and {id, redis.call('HGETALL', k.job .. id), redis.call('LRANGE', k.log .. id, 0, -1)} or {id}
        end
    end
    local total = redis.call('ZCARD', k[set])
    return {jobs, at < total and text(at) or '', total, full and groupsOf(k, set) or {}}
end)

-- args: dry ("1" = only look), then ids. Runs move(k, now, id, fields) for each id that is in this state; answers one
-- word for each id.
local function forEach(keys, args, state, move)
    local k, now, words = places(keys[1]), nowMs(), {}
    for i = 2, #args do
        local id = args[i]
        local f = redis.call('HMGET', k.job .. id, 'state', 'lane', 'dedupe', 'group', 'died_at')
        if f[1] ~= state then
            words[#words + 1] = 'missing'
        else
            words[#words + 1] = args[1] == '1' and 'found'
                or move(k, now, id, {lane = f[2], dedupe = f[3] or '', group = f[4], diedAt = f[5]})
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
        leaveGroup(k, 'dead', f.group, id)
        return 'requeued'
    end)
end)

redis.register_function('tidekeeper_dead_discard_v1', function(keys, args)
    return forEach(keys, args, 'dead', function(k, now, id, f)
        redis.call('ZADD', k.discarded, text(now), id)
        enterGroup(k, 'discarded', f.group, id, f.diedAt)
        redis.call('HSET', k.job .. id, 'state', 'discarded')
        redis.call('ZREM', k.dead, id)
        leaveGroup(k, 'dead', f.group, id)
        return 'discarded'
    end)
end)

redis.register_function('tidekeeper_dead_restore_v1', function(keys, args)
    return forEach(keys, args, 'discarded', function(k, now, id, f)
        if tonumber(redis.call('ZSCORE', k.discarded, id)) <= now - RESTORE_MS then
            return 'too_late' -- the next housekeeping removes it
        end
        redis.call('ZADD', k.dead, f.diedAt, id)
        enterGroup(k, 'dead', f.group, id, f.diedAt)
        redis.call('HSET', k.job .. id, 'state', 'dead')
        redis.call('ZREM', k.discarded, id)
        leaveGroup(k, 'discarded', f.group, id)
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
        leaveGroup(k, 'discarded', redis.call('HGET', k.job .. id, 'group') or '', id)
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

-- History -----------------------------------------------------------------------------------------------------

-- Newest first, from the one before this cursor; '' = from the newest. wanted(entry) chooses.
local function page(stream, cursor, limit, wanted)
    local found, from = {}, cursor == '' and '+' or '(' .. cursor
    local scanned = redis.call('XREVRANGE', stream, from, '-', 'COUNT', HISTORY_SCAN)
    local last = ''
    for _, entry in ipairs(scanned) do
        last = entry[1]
        if wanted(cjson.decode(entry[2][2])) then
            found[#found + 1] = entry[2][2]
        end
        if #found == limit then
            break
        end
    end
    local more = last ~= '' and #redis.call('XREVRANGE', stream, '(' .. last, '-', 'COUNT', 1) > 0
    return {found, more and last or ''}
end

-- args: cursor, limit, then type, outcome, class and id, each '' for any → entries as recordEnd writes them, cursor
register('tidekeeper_finished_v1', 'no-writes', function(keys, args)
    local k, type, outcome, class, id = places(keys[1]), args[3], args[4], args[5], args[6]
    return page(k.finished, args[1], whole(args[2], 'limit'), function(entry)
        return (type == '' or entry[2] == type) and (outcome == '' or entry[4] == outcome)
            and (class == '' or entry[11] == class) and (id == '' or entry[1] == id)
    end)
end)

-- args: schedule, cursor, limit → entries as recordRun writes them, cursor
register('tidekeeper_runs_v1', 'no-writes', function(keys, args)
    return page(places(keys[1]).runs .. args[1], args[2], whole(args[3], 'limit'), function()
        return true
    end)
end)

-- Where a schedule stands and its runs; not its job, whose end is no run of it any more.
register('tidekeeper_forget_schedule_v1', 'allow-oom', function(keys, args)
    local k, id = places(keys[1]), args[1]
    local job = redis.call('HGET', k.schedule .. id, 'job')
    if job and redis.call('HGET', k.job .. job, 'schedule') == id then
        redis.call('HDEL', k.job .. job, 'schedule')
    end
    return redis.call('DEL', k.schedule .. id, k.runs .. id)
end)

register('tidekeeper_queue_build', 'no-writes', function()
    return 6
end)
