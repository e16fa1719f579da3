-- SPDX-License-Identifier: Apache-2.0
--
-- The second part of the library tidekeeper_queue, after queue.lua whose local functions it uses: what workers do
-- with jobs. The usual life of a job is three words of tidekeeper_turn_v1: taken, started, done.

local MOST_IN_A_TURN = 1000
local READS_IN_A_TURN = 3

-- Ends --------------------------------------------------------------------------------------------------------

-- Ends jobs that are done, those of one place with one call. ends: {{id, owner}, …}; answers 1 or 0 for each:
-- whether it was in this owner's hands.
local function finish(k, now, ends)
    local answers, hands, entries, keys, seen = {}, {running = {}, claimed = {}}, {urgent = {}, normal = {}}, {}, {}
    for i, e in ipairs(ends) do
        local id = e[1]
        local job = not seen[id] and inHands(k, id, e[2])
        answers[i] = job and 1 or 0
        if job then
            seen[id] = true
            recordEnd(k, now, id, job, 'done')
            if job.dedupe then
                runAgain(k, now, id, job)
                freeDedupe(k, id, job.dedupe)
            end
            local set, lane = hands[job.state], entries[job.lane]
            set[#set + 1], lane[#lane + 1] = id, job.entry
            keys[#keys + 1] = k.job .. id
            if job.attempts or job.deferrals then -- else nothing was logged
                keys[#keys + 1] = k.log .. id
            end
        end
    end
    for state, ids in pairs(hands) do
        if #ids > 0 then
            redis.call('ZREM', k[state], unpack(ids))
        end
    end
    for lane, list in pairs(entries) do
        if #list > 0 then
            redis.call('XACK', k[lane], GROUP, unpack(list))
            redis.call('XDEL', k[lane], unpack(list))
        end
    end
    if #keys > 0 then
        redis.call('DEL', unpack(keys))
    end
    return answers
end

-- The ends apart from a turn answer 1, or 0 when the job is no longer in this owner's hands: a quiet outcome.
register('tidekeeper_ack_v1', 'allow-oom', function(keys, args)
    return finish(places(keys[1]), nowMs(), {{args[1], args[2]}})[1]
end)

-- args: id, owner, delay_ms, max_age_ms, class, text → 2 when it is a dead letter now, too old to be tried again
local function againLater(keys, args, kind, counter)
    local k, now, id = places(keys[1]), nowMs(), args[1]
    local job = inHands(k, id, args[2])
    if not job then
        return 0
    end
    local due = now + whole(args[3], 'delay_ms')
    job[counter] = text(redis.call('HINCRBY', k.job .. id, counter, 1))
    if due > tonumber(job.enqueuedAt) + whole(args[4], 'max_age_ms') then
        bury(k, now, id, job, args[5], args[6])
        return 2
    end
    redis.call('HSET', k.job .. id, 'starts', '0', 'error_class', args[5], 'error_text', args[6])
    logEnd(k, id, now, kind, args[5], args[6])
    putDelayed(k, id, due, '1')
    leaveHands(k, id, job.lane, job.entry)
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
    local job = inHands(k, id, args[2])
    if not job then
        return 0
    end
    local delay = whole(args[3], 'delay_ms')
    if job.state == 'running' then
        redis.call('HINCRBY', k.job .. id, 'starts', -1)
    end
    if delay > 0 then
        putDelayed(k, id, nowMs() + delay, '')
    else
        putWaiting(k, id, job.lane)
    end
    leaveHands(k, id, job.lane, job.entry)
    return 1
end)

redis.register_function('tidekeeper_bury_v1', function(keys, args)
    local k, id = places(keys[1]), args[1]
    local job = inHands(k, id, args[2])
    if not job then
        return 0
    end
    bury(k, nowMs(), id, job, args[3], args[4])
    return 1
end)

-- Starts ------------------------------------------------------------------------------------------------------

-- Counts a start before its handler runs, under a new owner token. The lease is the caller's to write, before.
local function countStart(k, now, id, owner, startsBefore)
    local starts = (tonumber(startsBefore) or 0) + 1
    redis.call('HSET', k.job .. id, 'state', 'running', 'owner', owner, 'starts', starts, 'started_at', text(now))
    return starts
end

-- Starts prefetched jobs: {{id, owner, new owner}, …}; answers for each how often it has been started, 0 when it is
-- not this owner's.
local function startPrefetched(k, now, untilMs, wanted)
    local answers = {}
    for i, w in ipairs(wanted) do
        local f = redis.call('HMGET', k.job .. w[1], 'state', 'owner', 'starts')
        if f[1] == 'claimed' and f[2] == w[2] then
            redis.call('ZADD', k.running, untilMs, w[1])
            answers[i] = countStart(k, now, w[1], w[3], f[3])
            redis.call('ZREM', k.claimed, w[1])
        else
            answers[i] = 0
        end
    end
    return answers
end

-- Taking ------------------------------------------------------------------------------------------------------

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

local function bodyOf(k, id)
    return redis.call('HMGET', k.job .. id, 'state', 'entry', 'lane', 'type', 'payload', 'dedupe', 'starts',
        'attempts', 'deferrals', 'enqueued_at')
end

-- Jobs whose lease ran out: back into living hands, or to the dead letters after too many starts without an end.
local function takeOver(k, now, take, set)
    local stalled = redis.call('ZRANGEBYSCORE', k[set], '-inf', text(now), 'LIMIT', 0, take.count - #take.found)
    for _, id in ipairs(stalled) do
        local body = bodyOf(k, id)
        local lane, entry, starts = body[3], body[2], tonumber(body[7]) or 0
        if not body[1] then
            lose(k, id)
            table.insert(take.lost, id)
        elseif body[1] == 'delayed' or body[1] == 'dead' or body[1] == 'discarded' then
            redis.call('ZREM', k[set], id) -- left behind by a move that an error cut short
        elseif set == 'running' and starts >= take.maxStarts then
            bury(k, now, id, jobOf(k, id), 'stalled',
                'The worker ended or hung during each of ' .. starts .. ' starts.')
            table.insert(take.dead, id)
        elseif #redis.call('XCLAIM', k[lane], GROUP, take.consumer, 0, entry, 'JUSTID') == 0 then
            putWaiting(k, id, lane) -- the entry was removed from outside
            redis.call('ZREM', k[set], id)
        else
            table.insert(take.found, {id = id, body = body, from = set})
        end
    end
end

local function readGroup(stream, consumer, count)
    local reply = redis.pcall('XREADGROUP', 'GROUP', GROUP, consumer, 'COUNT', count, 'STREAMS', stream, '>')
    if reply and reply.err then
        redis.call('XGROUP', 'CREATE', stream, GROUP, '0', 'MKSTREAM')
        reply = redis.call('XREADGROUP', 'GROUP', GROUP, consumer, 'COUNT', count, 'STREAMS', stream, '>')
    end
    return reply and reply[1][2] or {}
end

-- True when nothing more waits in this lane.
local function readLane(k, take, lane)
    if redis.call('XLEN', k[lane]) == 0 then -- nearly always true of the urgent one, and much cheaper than to read
        return true
    end
    for _ = 1, READS_IN_A_TURN do -- entries without a job make room for others
        local wanted = take.count - #take.found
        local entries = wanted > 0 and readGroup(k[lane], take.consumer, wanted) or {}
        for _, entry in ipairs(entries) do
            local id = entry[2][2]
            local body = bodyOf(k, id)
            if not body[1] then
                lose(k, id, lane, entry[1])
                table.insert(take.lost, id)
            elseif body[1] ~= 'waiting' or body[2] ~= entry[1] then
                dropEntry(k, lane, entry[1]) -- left behind by a move that an error cut short; the job is elsewhere
            else
                table.insert(take.found, {id = id, body = body})
            end
        end
        if #entries < wanted then
            return true
        elseif #take.found == take.count then
            return false
        end
    end
    return false
end

-- Gives each job found a lease, then a new owner. The first take.begin of those that never ran are started at once;
-- one that ran when a worker ended may be what ended it: it is only handed over, to be started alone.
local function handOver(k, now, take)
    local jobs, leases, begun = {}, {running = {}, claimed = {}}, 0
    for _, found in ipairs(take.found) do
        found.begins = begun < take.begin and (tonumber(found.body[7]) or 0) == 0
        begun = begun + (found.begins and 1 or 0)
        local list = leases[found.begins and 'running' or 'claimed']
        list[#list + 1] = take.untilMs
        list[#list + 1] = found.id
    end
    for set, list in pairs(leases) do
        if #list > 0 then
            redis.call('ZADD', k[set], unpack(list))
        end
    end
    for i, found in ipairs(take.found) do
        local f, owner, starts = found.body, take.token .. i, tonumber(found.body[7]) or 0
        if found.begins then
            starts = countStart(k, now, found.id, owner, starts)
        else
            redis.call('HSET', k.job .. found.id, 'state', 'claimed', 'owner', owner)
        end
        local set = found.begins and 'running' or 'claimed'
        if found.from and found.from ~= set then
            redis.call('ZREM', k[found.from], found.id)
        end
        jobs[i] = {found.id, owner, found.begins and 1 or 0, f[4], f[5], f[6] or '', starts, f[8] or 0, f[9] or 0, f[10],
            f[3]}
    end
    return jobs
end

-- The last entry of a stream, behind which a reader may wait for more.
local function lastEntry(stream)
    local last = redis.call('XREVRANGE', stream, '+', '-', 'COUNT', 1)[1]
    return last and last[1] or '0-0'
end

-- → jobs, ms until the next delayed one, where to wait for more (nothing when more may be waiting)
local function takeJobs(k, now, take)
    if take.sweep then
        promote(k, now, 100)
        takeOver(k, now, take, 'running')
        takeOver(k, now, take, 'claimed')
    end
    local isEmpty = true
    for _, lane in ipairs(LANES) do
        isEmpty = readLane(k, take, lane) and isEmpty
    end
    local jobs = handOver(k, now, take)
    if not isEmpty then
        return jobs, -1, {}
    end
    local first = redis.call('ZRANGE', k.delayed, 0, 0, 'WITHSCORES')
    local dueIn = first[2] and math.max(0, tonumber(first[2]) - now) or -1
    return jobs, dueIn, {lastEntry(k.urgent), lastEntry(k.normal), lastEntry(k.wake)}
end

-- Redis turns a table into a reply at some cost, also an empty one.
local function listOrZero(list)
    return #list > 0 and list or 0
end

-- A worker's turn: what it ended, which of its prefetched jobs it starts, and how many more it takes, of which it
-- can begin some now. args: consumer, token, lease_ms, max_starts, take, begin, sweep ('1' = also what became due or
-- outlived its lease), how many ends, {id, owner} of each, then {id, owner} of each start.
redis.register_function('tidekeeper_turn_v1', function(keys, args)
    local k, now = places(keys[1]), nowMs()
    local take = {consumer = args[1], token = args[2] .. '.', untilMs = text(now + whole(args[3], 'lease_ms')),
        maxStarts = whole(args[4], 'max_starts'), count = whole(args[5], 'take'), begin = whole(args[6], 'begin'),
        sweep = args[7] == '1', found = {}, lost = {}, dead = {}}
    local endCount, ends, starts = whole(args[8], 'ends'), {}, {}
    if take.count > MOST_IN_A_TURN or #args % 2 ~= 0 or #args - 8 > 2 * MOST_IN_A_TURN then
        error({err = 'ERR wants pairs of id and owner after eight arguments, and takes at most 1,000 jobs'})
    end
    for i = 9, #args, 2 do
        if #ends < endCount then
            ends[#ends + 1] = {args[i], args[i + 1]}
        else
            starts[#starts + 1] = {args[i], args[i + 1], args[2] .. ':' .. (#starts + 1)}
        end
    end
    local ended = finish(k, now, ends)
    local started = startPrefetched(k, now, take.untilMs, starts)
    local jobs, dueIn, seen = {}, -1, {}
    if take.count > 0 then
        jobs, dueIn, seen = takeJobs(k, now, take)
    end
    return {listOrZero(ended), listOrZero(started), listOrZero(jobs), dueIn, listOrZero(seen), listOrZero(take.lost),
        listOrZero(take.dead)}
end)

register('tidekeeper_heartbeat_v1', 'allow-oom', function(keys, args)
    local k, lost = places(keys[1]), {}
    local untilMs = text(nowMs() + whole(args[1], 'lease_ms'))
    for i = 2, #args, 2 do
        local f = redis.call('HMGET', k.job .. args[i], 'state', 'owner')
        if (f[1] == 'running' or f[1] == 'claimed') and f[2] == args[i + 1] and f[2] ~= '' then
            redis.call('ZADD', k[f[1]], untilMs, args[i])
        else
            lost[#lost + 1] = args[i]
        end
    end
    return lost
end)
