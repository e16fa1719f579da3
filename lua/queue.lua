#!lua name=tidekeeper_queue
-- SPDX-License-Identifier: Apache-2.0
-- build: 2
--
-- The queue: every move of a job is one function here or in queue_upkeep.lua, which is appended to this file to
-- make the library. README.md gives keys, arguments and results.
--
-- A job is a hash; its place is one of: a stream entry not yet delivered (waiting), a pending entry in a worker's
-- hands (claimed, then running), the sorted set of delayed jobs, the dead letters, or the discarded ones. A move
-- writes the new place before it removes the old one, so that an error half-way leaves a job twice rather than
-- nowhere. Time is the server's. KEYS[1] is the queue's prefix with its hash tag; all its keys are in one slot.

local GROUP = 'workers'
local LANES = {'urgent', 'normal'}
local LOG_ENTRIES = 20
local RESTORE_MS = 24 * 3600 * 1000
local IDLE_CONSUMER_MS = 3600 * 1000

local function nowMs()
    local t = redis.call('TIME')
    return tonumber(t[1]) * 1000 + math.floor(tonumber(t[2]) / 1000)
end

local function text(number)
    return string.format('%.0f', number)
end

local function whole(value, name)
    local number = tonumber(value)
    if not number or number ~= math.floor(number) or number < 0 or number > 9007199254740991 then
        error({err = 'ERR ' .. name .. ' must be a whole number, 0 or more'})
    end
    return number
end

local function places(prefix)
    return {
        urgent = prefix .. ':stream:urgent', normal = prefix .. ':stream:normal', wake = prefix .. ':wake',
        job = prefix .. ':job:', log = prefix .. ':log:', dedupe = prefix .. ':dedupe',
        delayed = prefix .. ':delayed', claimed = prefix .. ':claimed', running = prefix .. ':running',
        dead = prefix .. ':dead', groups = prefix .. ':dead_groups', discarded = prefix .. ':discarded',
        terms = prefix .. ':terms', schedule = prefix .. ':schedule:', lost = prefix .. ':lost'
    }
end

-- flag: 'allow-oom' for what frees memory or keeps a lease, so that a full Redis can be worked off; 'no-writes'.
local function register(name, flag, callback)
    redis.register_function{function_name = name, callback = callback, flags = {flag}}
end

-- Steps -------------------------------------------------------------------------------------------------------

local function putWaiting(k, id, lane)
    local entry = redis.call('XADD', k[lane], '*', 'j', id)
    redis.call('HSET', k.job .. id, 'state', 'waiting', 'lane', lane, 'entry', entry, 'owner', '', 'held', '0')
end

local function putDelayed(k, id, due, held)
    local first = redis.call('ZRANGE', k.delayed, 0, 0, 'WITHSCORES')
    redis.call('ZADD', k.delayed, text(due), id)
    redis.call('HSET', k.job .. id, 'state', 'delayed', 'owner', '', 'entry', '', 'held', held)
    if not first[2] or due < tonumber(first[2]) then
        redis.call('XADD', k.wake, 'MAXLEN', 1, '*', 'd', text(due)) -- the workers' next look is too late
    end
end

local function dropEntry(k, lane, entry)
    redis.call('XACK', k[lane], GROUP, entry)
    redis.call('XDEL', k[lane], entry)
end

local function leaveHands(k, id, lane, entry)
    redis.call('ZREM', k.running, id)
    redis.call('ZREM', k.claimed, id)
    dropEntry(k, lane, entry)
end

local function freeDedupe(k, id, dedupe)
    if dedupe and dedupe ~= '' and redis.call('HGET', k.dedupe, dedupe) == id then
        redis.call('HDEL', k.dedupe, dedupe)
    end
end

local function logEnd(k, id, now, kind, class, message)
    redis.call('RPUSH', k.log .. id, cjson.encode({at = now, kind = kind, class = class, text = message}))
    redis.call('LTRIM', k.log .. id, -LOG_ENTRIES, -1)
end

-- Class and a print of the text without its numbers, ids and quotations.
local function groupOf(class, message)
    local plain = string.lower(message)
    plain = string.gsub(plain, '"[^"]*"', '"#"')
    plain = string.gsub(plain, '%x%x%x%x%x%x%x%x+', '#')
    plain = string.gsub(plain, '%d+', '#')
    return class .. ':' .. string.sub(redis.sha1hex(plain), 1, 8)
end

local function countGroup(k, group, by)
    if redis.call('HINCRBY', k.groups, group, by) <= 0 then
        redis.call('HDEL', k.groups, group)
    end
end

local function newJob(k, now, job)
    redis.call('HSET', k.job .. job.id, 'type', job.type, 'payload', job.payload, 'dedupe', job.dedupe,
        'lane', job.urgent and 'urgent' or 'normal', 'starts', '0', 'attempts', '0', 'deferrals', '0',
        'enqueued_at', text(now))
    if job.dedupe ~= '' then
        redis.call('HSET', k.dedupe, job.dedupe, job.id)
    end
    if job.delay > 0 then
        putDelayed(k, job.id, now + job.delay, '0')
    else
        putWaiting(k, job.id, job.urgent and 'urgent' or 'normal')
    end
end

-- The run that a schedule asked for while this job was running (overlap "queue-one").
local function runAgain(k, now, id)
    local f = redis.call('HMGET', k.job .. id, 'again_id', 'again_payload', 'type', 'dedupe', 'lane')
    if f[1] then
        newJob(k, now, {id = f[1], type = f[3], payload = f[2], dedupe = f[4], delay = 0,
            urgent = f[5] == 'urgent'})
    end
end

local function bury(k, now, id, class, message)
    local f = redis.call('HMGET', k.job .. id, 'dedupe', 'lane', 'entry')
    local group = groupOf(class, message)
    logEnd(k, id, now, 'dead', class, message)
    redis.call('HSET', k.job .. id, 'state', 'dead', 'owner', '', 'error_class', class, 'error_text', message,
        'group', group, 'died_at', text(now))
    redis.call('ZADD', k.dead, text(now), id)
    countGroup(k, group, 1)
    runAgain(k, now, id)
    redis.call('HDEL', k.job .. id, 'again_id', 'again_payload')
    freeDedupe(k, id, f[1])
    leaveHands(k, id, f[2], f[3])
end

-- The job's lane and entry when it is in this owner's hands, else nothing.
local function inHands(k, id, owner)
    local f = redis.call('HMGET', k.job .. id, 'state', 'owner', 'lane', 'entry')
    if (f[1] == 'running' or f[1] == 'claimed') and f[2] == owner and owner ~= '' then
        return {state = f[1], lane = f[3], entry = f[4]}
    end
end

local function checkTerm(k, lease, term)
    if lease == '' then
        return
    end
    local given = whole(term, 'term')
    local seen = tonumber(redis.call('HGET', k.terms, lease) or '0')
    if given < seen then
        error({err = 'STALETERM ' .. text(seen)})
    elseif given > seen then
        redis.call('HSET', k.terms, lease, text(given))
    end
end

-- Enqueue -----------------------------------------------------------------------------------------------------

-- What becomes of a live job when its key is asked for again.
local function askAgain(k, now, id, state, delay, urgent)
    if state == 'waiting' then
        local f = redis.call('HMGET', k.job .. id, 'lane', 'entry')
        if urgent and f[1] == 'normal' then
            putWaiting(k, id, 'urgent')
            redis.call('XDEL', k.normal, f[2])
            return 'promoted'
        end
        return 'waiting'
    elseif state == 'delayed' then
        local f = redis.call('HMGET', k.job .. id, 'lane', 'held')
        local held = f[2] == '1' -- by a back-off or a limiter, which only an urgent wish overrules
        if delay == 0 and (urgent or not held) then
            putWaiting(k, id, urgent and 'urgent' or f[1])
            redis.call('ZREM', k.delayed, id)
            return 'promoted'
        elseif not held and now + delay < tonumber(redis.call('ZSCORE', k.delayed, id) or '0') then
            putDelayed(k, id, now + delay, '0')
        end
        return 'delayed'
    end
    return state == 'claimed' and 'waiting' or 'running'
end

local function enqueue(k, now, job)
    local live = job.dedupe ~= '' and redis.call('HGET', k.dedupe, job.dedupe) or job.id
    local state = redis.call('HGET', k.job .. live, 'state')
    if state and state ~= 'dead' and state ~= 'discarded' then
        return live, askAgain(k, now, live, state, job.delay, job.urgent)
    end
    newJob(k, now, job)
    return job.id, 'added'
end

redis.register_function('tidekeeper_enqueue_v1', function(keys, args)
    local k, now, jobs, results = places(keys[1]), nowMs(), {}, {}
    if #args < 2 or (#args - 2) % 6 ~= 0 then
        error({err = 'ERR wants lease, term, then six arguments for each job'})
    end
    for i = 3, #args, 6 do -- all are checked before one is added
        jobs[#jobs + 1] = {id = args[i], type = args[i + 1], payload = args[i + 2], dedupe = args[i + 3],
            delay = whole(args[i + 4], 'delay_ms'), urgent = args[i + 5] == '1'}
    end
    checkTerm(k, args[1], args[2])
    for _, job in ipairs(jobs) do
        local id, result = enqueue(k, now, job)
        results[#results + 1] = id
        results[#results + 1] = result
    end
    return results
end)

redis.register_function('tidekeeper_fence_v1', function(keys, args)
    checkTerm(places(keys[1]), args[1], args[2])
    return 1
end)

redis.register_function('tidekeeper_fire_v1', function(keys, args)
    local k, now = places(keys[1]), nowMs()
    local schedule, expected, nominal, overlap = args[1], args[2], args[3], args[6]
    checkTerm(k, args[4], args[5])
    local current = redis.call('HGET', k.schedule .. schedule, 'nominal') or ''
    if current ~= expected then
        return {'taken', current, ''}
    end
    redis.call('HSET', k.schedule .. schedule, 'nominal', nominal, 'fired_at', text(now))
    if #args < 7 then
        return {'fired', '', ''}
    end
    local job = {id = args[7], type = args[8], payload = args[9], dedupe = args[10], delay = 0,
        urgent = args[11] == '1'}
    local id, result = enqueue(k, now, job)
    if result == 'running' and overlap == 'queue-one' then
        redis.call('HSET', k.job .. id, 'again_id', job.id, 'again_payload', job.payload)
        result = 'queued_one'
    end
    redis.call('HSET', k.schedule .. schedule, 'result', result, 'job', id)
    return {'fired', result, id}
end)

-- Taking and working ------------------------------------------------------------------------------------------

local function lose(k, id, lane, entry)
    redis.call('INCR', k.lost)
    redis.call('DEL', k.job .. id, k.log .. id)
    if lane and entry then
        leaveHands(k, id, lane, entry)
    end
    redis.call('ZREM', k.running, id)
    redis.call('ZREM', k.claimed, id)
end

local function promote(k, now, limit)
    local due = redis.call('ZRANGEBYSCORE', k.delayed, '-inf', text(now), 'LIMIT', 0, limit)
    for _, id in ipairs(due) do
        local lane = redis.call('HGET', k.job .. id, 'lane')
        if lane then
            putWaiting(k, id, lane)
        else
            lose(k, id)
        end
        redis.call('ZREM', k.delayed, id)
    end
    return #due
end

redis.register_function('tidekeeper_promote_v1', function(keys, args)
    return promote(places(keys[1]), nowMs(), whole(args[1], 'limit'))
end)

local function handOver(k, id, owner, untilMs)
    redis.call('ZADD', k.claimed, text(untilMs), id)
    redis.call('HSET', k.job .. id, 'state', 'claimed', 'owner', owner)
    redis.call('ZREM', k.running, id)
    local f = redis.call('HMGET', k.job .. id, 'type', 'payload', 'dedupe', 'starts', 'attempts', 'deferrals',
        'enqueued_at', 'lane')
    return {id, owner, f[1], f[2], f[3], f[4], f[5], f[6], f[7], f[8]}
end

-- Jobs whose lease ran out: back into living hands, or to the dead letters after too many starts without an end.
local function takeOver(k, now, take, set)
    local stalled = redis.call('ZRANGEBYSCORE', set, '-inf', text(now), 'LIMIT', 0, take.count - #take.jobs)
    for _, id in ipairs(stalled) do
        local f = redis.call('HMGET', k.job .. id, 'lane', 'entry', 'starts')
        if not f[1] then
            lose(k, id)
            take.lost[#take.lost + 1] = id
        elseif set == k.running and tonumber(f[3]) >= take.maxStarts then
            bury(k, now, id, 'stalled', 'The worker ended or hung during each of ' .. f[3] .. ' starts.')
            take.dead[#take.dead + 1] = id
        elseif #redis.call('XCLAIM', k[f[1]], GROUP, take.consumer, 0, f[2], 'JUSTID') == 0 then
            putWaiting(k, id, f[1]) -- the entry was removed from outside
            redis.call('ZREM', set, id)
        else
            take.jobs[#take.jobs + 1] = handOver(k, id, take.token .. #take.jobs, now + take.lease)
        end
    end
end

local function readGroup(stream, consumer, count)
    local command = {'XREADGROUP', 'GROUP', GROUP, consumer, 'COUNT', count, 'STREAMS', stream, '>'}
    local reply = redis.pcall(unpack(command))
    if reply and reply.err then
        redis.call('XGROUP', 'CREATE', stream, GROUP, '0', 'MKSTREAM')
        reply = redis.call(unpack(command))
    end
    return reply and reply[1][2] or {}
end

local function readLane(k, now, take, lane)
    local wanted = take.count - #take.jobs
    for _, entry in ipairs(wanted > 0 and readGroup(k[lane], take.consumer, wanted) or {}) do
        local id = entry[2][2]
        local f = redis.call('HMGET', k.job .. id, 'state', 'entry')
        if not f[1] then
            lose(k, id, lane, entry[1])
            take.lost[#take.lost + 1] = id
        elseif f[1] ~= 'waiting' or f[2] ~= entry[1] then
            dropEntry(k, lane, entry[1]) -- left behind by a move that an error cut short; the job is elsewhere
        else
            take.jobs[#take.jobs + 1] = handOver(k, id, take.token .. #take.jobs, now + take.lease)
        end
    end
end

local function lastId(stream)
    local info = redis.pcall('XINFO', 'STREAM', stream)
    for i = 1, #info, 2 do
        if info[i] == 'last-generated-id' then
            return info[i + 1]
        end
    end
    return '0-0'
end

redis.register_function('tidekeeper_take_v1', function(keys, args)
    local k, now = places(keys[1]), nowMs()
    local take = {consumer = args[1], count = whole(args[2], 'count'), lease = whole(args[3], 'lease_ms'),
        maxStarts = whole(args[4], 'max_starts'), token = args[5] .. '.', jobs = {}, lost = {}, dead = {}}
    promote(k, now, 100)
    if take.count > 0 then
        takeOver(k, now, take, k.running)
        takeOver(k, now, take, k.claimed)
        for _, lane in ipairs(LANES) do
            readLane(k, now, take, lane)
        end
    end
    local seen = {lastId(k.urgent), lastId(k.normal), lastId(k.wake)}
    local first = redis.call('ZRANGE', k.delayed, 0, 0, 'WITHSCORES')
    local dueIn = first[2] and math.max(0, tonumber(first[2]) - now) or -1
    return {take.jobs, dueIn, seen, take.lost, take.dead}
end)

redis.register_function('tidekeeper_start_v1', function(keys, args)
    local k, now, id = places(keys[1]), nowMs(), args[1]
    local hands = inHands(k, id, args[2])
    if not hands or hands.state ~= 'claimed' then
        return {0}
    end
    local starts = redis.call('HINCRBY', k.job .. id, 'starts', 1)
    redis.call('ZADD', k.running, text(now + whole(args[4], 'lease_ms')), id)
    redis.call('HSET', k.job .. id, 'state', 'running', 'owner', args[3])
    redis.call('ZREM', k.claimed, id)
    return {1, starts}
end)

register('tidekeeper_heartbeat_v1', 'allow-oom', function(keys, args)
    local k, lost = places(keys[1]), {}
    local untilMs = text(nowMs() + whole(args[1], 'lease_ms'))
    for i = 2, #args, 2 do
        local hands = inHands(k, args[i], args[i + 1])
        if hands then
            redis.call('ZADD', k[hands.state], untilMs, args[i])
        else
            lost[#lost + 1] = args[i]
        end
    end
    return lost
end)

-- Ends --------------------------------------------------------------------------------------------------------
-- Each answers 1, or 0 when the job is no longer in this owner's hands: a normal, quiet outcome.

register('tidekeeper_ack_v1', 'allow-oom', function(keys, args)
    local k, id = places(keys[1]), args[1]
    local hands = inHands(k, id, args[2])
    if not hands then
        return 0
    end
    runAgain(k, nowMs(), id)
    freeDedupe(k, id, redis.call('HGET', k.job .. id, 'dedupe'))
    leaveHands(k, id, hands.lane, hands.entry)
    redis.call('DEL', k.job .. id, k.log .. id)
    return 1
end)

-- args: id, owner, delay_ms, max_age_ms, class, text
local function againLater(keys, args, kind, counter)
    local k, now, id = places(keys[1]), nowMs(), args[1]
    local hands = inHands(k, id, args[2])
    if not hands then
        return 0
    end
    local due = now + whole(args[3], 'delay_ms')
    redis.call('HINCRBY', k.job .. id, counter, 1)
    redis.call('HSET', k.job .. id, 'starts', '0', 'error_class', args[5], 'error_text', args[6])
    if due > tonumber(redis.call('HGET', k.job .. id, 'enqueued_at')) + whole(args[4], 'max_age_ms') then
        bury(k, now, id, args[5], args[6])
        return 1
    end
    logEnd(k, id, now, kind, args[5], args[6])
    putDelayed(k, id, due, '1')
    leaveHands(k, id, hands.lane, hands.entry)
    return 1
end

redis.register_function('tidekeeper_retry_v1', function(keys, args)
    return againLater(keys, args, 'retry', 'attempts')
end)

redis.register_function('tidekeeper_defer_v1', function(keys, args)
    return againLater(keys, args, 'defer', 'deferrals')
end)

redis.register_function('tidekeeper_put_back_v1', function(keys, args)
    local k, id = places(keys[1]), args[1]
    local hands = inHands(k, id, args[2])
    if not hands then
        return 0
    end
    local delay = whole(args[3], 'delay_ms')
    if hands.state == 'running' then
        redis.call('HINCRBY', k.job .. id, 'starts', -1)
    end
    if delay > 0 then
        putDelayed(k, id, nowMs() + delay, '0')
    else
        putWaiting(k, id, hands.lane)
    end
    leaveHands(k, id, hands.lane, hands.entry)
    return 1
end)

redis.register_function('tidekeeper_bury_v1', function(keys, args)
    local k, id = places(keys[1]), args[1]
    if not inHands(k, id, args[2]) then
        return 0
    end
    bury(k, nowMs(), id, args[3], args[4])
    return 1
end)

register('tidekeeper_queue_build', 'no-writes', function()
    return 2
end)
