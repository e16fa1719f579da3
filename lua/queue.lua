#!lua name=tidekeeper_queue
-- SPDX-License-Identifier: Apache-2.0
-- build: 6
--
-- The queue: every move of a job is one function. This file, queue_work.lua and queue_upkeep.lua, one after the
-- other, make the library. README.md gives keys, arguments and results.
--
-- A job is a hash; its place is one of: a stream entry not yet delivered (waiting), a pending entry in a worker's
-- hands (claimed, then running), the sorted set of delayed jobs, the dead letters, or the discarded ones. A move
-- writes the new place before it removes the old one, so that an error half-way leaves a job twice rather than
-- nowhere. Time is the server's. KEYS[1] is the queue's prefix with its hash tag; all its keys are in one slot.

local GROUP = 'workers'
local LANES = {'urgent', 'normal'}
local LOG_ENTRIES = 20
local FINISHED_ENTRIES = 10000
local RUN_ENTRIES = 1000
local HISTORY_TEXT = 500 -- bytes of an error's text that the history keeps

local function nowMs()
    local t = redis.call('TIME')
    return tonumber(t[1]) * 1000 + math.floor(tonumber(t[2]) / 1000)
end

local lastNumber, lastText

-- The same instant is written many times in one call.
local function text(number)
    if number ~= lastNumber then
        lastNumber, lastText = number, string.format('%d', number)
    end
    return lastText
end

local function whole(value, name)
    local number = tonumber(value)
    if not number or number ~= math.floor(number) or number < 0 or number > 9007199254740991 then
        error({err = 'ERR ' .. name .. ' must be a whole number, 0 or more'})
    end
    return number
end

local MOST_PREFIXES = 64
local knownPlaces, knownCount = {}, 0

local function makePlaces(prefix)
    return {
        urgent = prefix .. ':stream:urgent', normal = prefix .. ':stream:normal', wake = prefix .. ':wake',
        job = prefix .. ':job:', log = prefix .. ':log:', dedupe = prefix .. ':dedupe',
        delayed = prefix .. ':delayed', claimed = prefix .. ':claimed', running = prefix .. ':running',
        dead = prefix .. ':dead', discarded = prefix .. ':discarded', groups = prefix .. ':groups:',
        group = prefix .. ':group:', finished = prefix .. ':finished', runs = prefix .. ':runs:',
        terms = prefix .. ':terms', schedule = prefix .. ':schedule:', lost = prefix .. ':lost'
    }
end

-- The names of a queue's keys; put together once, as that costs more than a short function does.
local function places(prefix)
    local k = knownPlaces[prefix]
    if not k then
        if knownCount == MOST_PREFIXES then
            knownPlaces, knownCount = {}, 0
        end
        k = makePlaces(prefix)
        knownPlaces[prefix], knownCount = k, knownCount + 1
    end
    return k
end

-- flag: 'allow-oom' for what frees memory or keeps a lease, so that a full Redis can be worked off; 'no-writes'.
local function register(name, flag, callback)
    redis.register_function{function_name = name, callback = callback, flags = {flag}}
end

-- History -----------------------------------------------------------------------------------------------------

-- Not in the middle of a character.
local function shortened(message)
    if #message <= HISTORY_TEXT then
        return message
    end
    return (string.gsub(string.sub(message, 1, HISTORY_TEXT), '[\192-\255][\128-\191]*$', ''))
end

local function recordRun(k, schedule, run)
    redis.call('XADD', k.runs .. schedule, 'MAXLEN', RUN_ENTRIES, '*', 'h', cjson.encode(run))
end

-- A tick, or a wish by hand, that made no job of its own.
local function recordIdleRun(k, now, schedule, nominal, result, job)
    recordRun(k, schedule, {nominal or '', result, '', job, text(now), '', text(now), '', '', '', ''})
end

-- job: as jobOf reads it.
local function recordEnd(k, now, id, job, outcome)
    local class, message = '', ''
    if job.attempts or job.deferrals or outcome == 'dead' then
        local f = redis.call('HMGET', k.job .. id, 'error_class', 'error_text')
        class, message = f[1] or '', shortened(f[2] or '')
    end
    redis.call('XADD', k.finished, 'MAXLEN', '~', FINISHED_ENTRIES, '*', 'h', cjson.encode({id, job.type or '',
        job.schedule or '', outcome, job.starts or '', job.attempts or '', job.deferrals or '',
        job.enqueuedAt or '', job.startedAt or '', text(now), class, message}))
    if job.schedule then
        local f = redis.call('HMGET', k.job .. id, 'nominal', 'result', 'fired_at')
        recordRun(k, job.schedule, {f[1] or '', f[2] or 'added', outcome, id, f[3] or '', job.startedAt or '',
            text(now), job.attempts or '', job.deferrals or '', class, message})
    end
end

-- Steps -------------------------------------------------------------------------------------------------------

-- What a move needs to know of a job, or nothing when its body is gone. What is 0 or empty may be missing.
local function jobOf(k, id)
    local f = redis.call('HMGET', k.job .. id, 'state', 'owner', 'lane', 'entry', 'dedupe', 'schedule', 'type',
        'starts', 'attempts', 'deferrals', 'enqueued_at', 'started_at')
    return f[1] and {state = f[1], owner = f[2], lane = f[3], entry = f[4], dedupe = f[5], schedule = f[6],
        type = f[7], starts = f[8], attempts = f[9], deferrals = f[10], enqueuedAt = f[11], startedAt = f[12]}
end

-- The job when it is in this owner's hands, else nothing.
local function inHands(k, id, owner)
    local job = jobOf(k, id)
    if job and (job.state == 'running' or job.state == 'claimed') and job.owner == owner and owner ~= '' then
        return job
    end
end

local function putWaiting(k, id, lane)
    local entry = redis.call('XADD', k[lane], '*', 'j', id)
    redis.call('HSET', k.job .. id, 'state', 'waiting', 'lane', lane, 'entry', entry, 'owner', '', 'held', '')
end

-- The workers' next look at the delayed jobs may be later than this one is due.
local function putDue(k, id, due)
    local first = redis.call('ZRANGE', k.delayed, 0, 0, 'WITHSCORES')
    redis.call('ZADD', k.delayed, text(due), id)
    if not first[2] or due < tonumber(first[2]) then
        redis.call('XADD', k.wake, 'MAXLEN', 1, '*', 'd', text(due))
    end
end

local function putDelayed(k, id, due, held)
    putDue(k, id, due)
    redis.call('HSET', k.job .. id, 'state', 'delayed', 'owner', '', 'entry', '', 'held', held)
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
    if dedupe and redis.call('HGET', k.dedupe, dedupe) == id then
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

-- Dead letters and discarded ones are counted by group, with the time of death. set: 'dead' or 'discarded'.
local function enterGroup(k, set, group, id, diedAt)
    redis.call('ZADD', k.group .. set .. ':' .. group, diedAt, id)
    redis.call('SADD', k.groups .. set, group)
end

local function leaveGroup(k, set, group, id)
    redis.call('ZREM', k.group .. set .. ':' .. group, id)
    if redis.call('EXISTS', k.group .. set .. ':' .. group) == 0 then
        redis.call('SREM', k.groups .. set, group)
    end
end

-- job: id, type, payload, dedupe, delay, urgent, schedule ('' = none); of a schedule: nominal ('' = by hand), result.
local function newJob(k, now, job)
    local lane, state, entry = job.urgent and 'urgent' or 'normal', 'waiting', ''
    if job.delay > 0 then
        state = 'delayed'
        putDue(k, job.id, now + job.delay)
    else
        entry = redis.call('XADD', k[lane], '*', 'j', job.id)
    end
    redis.call('HSET', k.job .. job.id, 'state', state, 'lane', lane, 'entry', entry, 'type', job.type,
        'payload', job.payload, 'enqueued_at', text(now))
    if job.schedule ~= '' then
        redis.call('HSET', k.job .. job.id, 'schedule', job.schedule, 'nominal', job.nominal,
            'result', job.result or 'added', 'fired_at', text(now))
    end
    if job.dedupe ~= '' then
        redis.call('HSET', k.job .. job.id, 'dedupe', job.dedupe)
        redis.call('HSET', k.dedupe, job.dedupe, job.id)
    end
end

-- The run that a schedule asked for while this job was running (overlap "queue-one").
local function runAgain(k, now, id, job)
    local f = redis.call('HMGET', k.job .. id, 'again_id', 'again_payload', 'again_schedule', 'again_nominal')
    if not f[1] then
        return
    end
    newJob(k, now, {id = f[1], type = job.type, payload = f[2], dedupe = job.dedupe or '', delay = 0,
        urgent = job.lane == 'urgent', schedule = f[3], nominal = f[4], result = 'queued_one'})
    redis.call('HSET', k.schedule .. f[3], 'job', f[1])
    redis.call('HDEL', k.job .. id, 'again_id', 'again_payload', 'again_schedule', 'again_nominal')
end

local function bury(k, now, id, job, class, message)
    local group = groupOf(class, message)
    logEnd(k, id, now, 'dead', class, message)
    redis.call('HSET', k.job .. id, 'state', 'dead', 'owner', '', 'error_class', class, 'error_text', message,
        'group', group, 'died_at', text(now))
    redis.call('ZADD', k.dead, text(now), id)
    enterGroup(k, 'dead', group, id, text(now))
    recordEnd(k, now, id, job, 'dead')
    runAgain(k, now, id, job)
    freeDedupe(k, id, job.dedupe)
    leaveHands(k, id, job.lane, job.entry)
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
            putDue(k, id, now + delay)
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
    if #args < 2 or (#args - 2) % 8 ~= 0 then
        error({err = 'ERR wants lease, term, then eight arguments for each job'})
    end
    for i = 3, #args, 8 do -- all are checked before one is added
        jobs[#jobs + 1] = {id = args[i], type = args[i + 1], payload = args[i + 2], dedupe = args[i + 3],
            delay = whole(args[i + 4], 'delay_ms'), urgent = args[i + 5] == '1', schedule = args[i + 6],
            nominal = args[i + 7]}
    end
    checkTerm(k, args[1], args[2])
    for _, job in ipairs(jobs) do
        local id, result = enqueue(k, now, job)
        results[#results + 1] = id
        results[#results + 1] = result
        if job.schedule ~= '' and result ~= 'added' then
            recordIdleRun(k, now, job.schedule, job.nominal, result, id)
        end
    end
    return results
end)

redis.register_function('tidekeeper_fence_v1', function(keys, args)
    checkTerm(places(keys[1]), args[1], args[2])
    return 1
end)

-- One more run after this one; a tick that waited for the same is passed over.
local function queueOne(k, now, id, job)
    local f = redis.call('HMGET', k.job .. id, 'again_schedule', 'again_nominal')
    redis.call('HSET', k.job .. id, 'again_id', job.id, 'again_payload', job.payload,
        'again_schedule', job.schedule, 'again_nominal', job.nominal)
    if f[1] then
        recordIdleRun(k, now, f[1], f[2], 'passed_over', id)
    end
end

redis.register_function('tidekeeper_fire_v1', function(keys, args)
    local k, now = places(keys[1]), nowMs()
    local schedule, expected, nominal, overlap = args[1], args[2], args[3], args[6]
    checkTerm(k, args[4], args[5])
    local current = redis.call('HGET', k.schedule .. schedule, 'nominal') or ''
    if current ~= expected then
        return {'taken', current, ''}
    end
    redis.call('HSET', k.schedule .. schedule, 'nominal', nominal, 'fired_at', text(now))
    if #args < 8 then
        if args[7] == 'passed_over' then
            recordIdleRun(k, now, schedule, nominal, 'passed_over', '')
        end
        return {'fired', '', ''}
    end
    local job = {id = args[7], type = args[8], payload = args[9], dedupe = args[10], delay = 0,
        urgent = args[11] == '1', schedule = schedule, nominal = nominal}
    local id, result = enqueue(k, now, job)
    if result == 'running' and overlap == 'queue-one' then
        queueOne(k, now, id, job)
        result = 'queued_one'
    elseif result ~= 'added' then
        recordIdleRun(k, now, schedule, nominal, result, id)
    end
    redis.call('HSET', k.schedule .. schedule, 'result', result, 'job', id)
    return {'fired', result, id}
end)

-- args: schedule ids → for each {nominal, fired_at, result, job, 1 while that job is live, its newest run}, empty
-- where nothing is known
register('tidekeeper_schedules_v1', 'no-writes', function(keys, args)
    local k, states = places(keys[1]), {}
    for i, id in ipairs(args) do
        local f = redis.call('HMGET', k.schedule .. id, 'nominal', 'fired_at', 'result', 'job')
        local state = f[4] and redis.call('HGET', k.job .. f[4], 'state')
        local active = state and state ~= 'dead' and state ~= 'discarded'
        local newest = redis.call('XREVRANGE', k.runs .. id, '+', '-', 'COUNT', 1)[1]
        states[i] = {f[1] or '', f[2] or '', f[3] or '', f[4] or '', active and 1 or 0, newest and newest[2][2] or ''}
    end
    return states
end)
