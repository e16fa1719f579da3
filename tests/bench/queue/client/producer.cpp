// SPDX-License-Identifier: Apache-2.0
#include "plan.h"

#include <QtCore/QEventLoop>
#include <QtCore/QTimer>

using namespace Qt::StringLiterals;
using namespace tidekeeper;

namespace bench {

namespace {

/// JSON of the wished length, give or take the digits: when it was due, when it was sent, both in µs, and filling.
class Payloads {
public:
    explicit Payloads(const Plan &plan) : m_filling(plan.payloadBytes - 50, u'x') { }

    queue::JobSpec job(qint64 dueUs, qint64 sentUs) const
    {
        queue::JobSpec spec;
        spec.type = u"bench"_s;
        spec.payload = {{u"due"_s, dueUs}, {u"sent"_s, sentUs}, {u"filling"_s, m_filling}};
        return spec;
    }

private:
    QString m_filling;
};

/// Takes jobs from `left` until there are none.
QCoro::Task<Result<>> addWhileAny(queue::JobQueue &queue, const Payloads &payloads, int &left, int bulk)
{
    while (left > 0) {
        const int taken = std::min(bulk, left);
        left -= taken;
        const qint64 nowUs = monotonicUs();
        if (taken == 1) {
            queue::JobSpec spec = payloads.job(nowUs, nowUs);
            const Result<queue::EnqueueResult> one = co_await queue.enqueue(std::move(spec));
            if (!one)
                co_return fail(one.error());
            continue;
        }
        QList<queue::JobSpec> specs;
        for (int i = 0; i < taken; ++i)
            specs.append(payloads.job(nowUs, nowUs));
        const Result<QList<queue::EnqueueResult>> all = co_await queue.enqueue(std::move(specs));
        if (!all)
            co_return fail(all.error());
    }
    co_return Result<>();
}

void orThrow(const Result<> &result)
{
    if (!result)
        throw std::runtime_error(qPrintable(result.error().text));
}

void addAll(queue::JobQueue &queue, const Plan &plan, int count)
{
    const Payloads payloads(plan);
    std::vector<QCoro::Task<Result<>>> callers;
    for (int i = 0; i < plan.callers; ++i)
        callers.push_back(addWhileAny(queue, payloads, count, plan.bulk));
    for (QCoro::Task<Result<>> &caller : callers)
        orThrow(QCoro::waitFor(caller));
}

/// Sends each job when it is due, by a schedule that does not wait for answers.
class OpenLoop {
public:
    OpenLoop(queue::JobQueue &queue, const Plan &plan) : m_queue(queue), m_plan(plan), m_payloads(plan)
    {
        m_timer.setTimerType(Qt::PreciseTimer);
        QObject::connect(&m_timer, &QTimer::timeout, [this] { sendDue(); });
    }

    void run()
    {
        m_startUs = monotonicUs();
        m_timer.start(1);
        m_loop.exec();
        orThrow(m_failed);
    }

private:
    qint64 dueUs(int job) const { return m_startUs + job * 1'000'000LL / m_plan.rate; }

    void sendDue()
    {
        while (m_sent < m_plan.count && dueUs(m_sent) <= monotonicUs())
            sendOne(dueUs(m_sent++));
        if (m_sent == m_plan.count)
            m_timer.stop();
    }

    QCoro::Task<> sendOne(qint64 due)
    {
        queue::JobSpec spec = m_payloads.job(due, monotonicUs());
        const Result<queue::EnqueueResult> reply = co_await m_queue.enqueue(std::move(spec));
        if (!reply)
            m_failed = fail(reply.error());
        if (++m_answered == m_plan.count)
            m_loop.quit();
    }

    queue::JobQueue &m_queue;
    const Plan &m_plan;
    Payloads m_payloads;
    QTimer m_timer;
    QEventLoop m_loop;
    qint64 m_startUs = 0;
    int m_sent = 0;
    int m_answered = 0;
    Result<> m_failed;
};

} // namespace

void add(const Plan &plan)
{
    Link link(plan);
    addAll(link.queue, plan, plan.warm);
    const Stopwatch watch;
    addAll(link.queue, plan, plan.count);
    watch.print(plan.count);
}

void produce(const Plan &plan)
{
    Link link(plan);
    OpenLoop(link.queue, plan).run();
}

} // namespace bench
