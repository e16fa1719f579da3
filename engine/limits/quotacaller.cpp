// SPDX-License-Identifier: Apache-2.0
#include "limits/quotacaller.h"

#include <QtCore/QPointer>
#include <QtCore/QTimer>

#include <algorithm>

using namespace Qt::StringLiterals;

namespace tidekeeper::limits {

namespace {

constexpr qint64 askAgainMs = 10;

} // namespace

QuotaCaller::QuotaCaller(redis::RedisConnection &connection, redis::FunctionLibrary &library,
                         Projects &projects, const Clock &clock, const ServerClock &serverClock)
    : m_connection(connection), m_library(library), m_projects(projects), m_clock(clock),
      m_serverClock(serverClock)
{ }

void QuotaCaller::send(const std::shared_ptr<QuotaCall> &call)
{
    const qint64 leftMs = call->endMs - m_clock.monotonicMs();
    if (leftMs <= 0) {
        end(*call, AnswerKind::Away, fail(u"redis_timeout"_s, u"it did not answer in time"_s));
        return;
    }
    if (call->lastStartMs > 0) {
        const auto deadlineUs = m_serverClock.at(call->lastStartMs);
        call->arguments[QuotaCall::deadlineArgument] =
            deadlineUs ? QByteArray::number(*deadlineUs) : QByteArray("");
    }
    const QPointer<QuotaCaller> self(this);
    m_library.call(
        call->function, call->keys, call->arguments,
        [self, call](const Result<redis::Value> &answer) {
            if (self)
                self->answered(call, answer);
            else
                call->ended(AnswerKind::Broken, fail(u"stopping"_s, u"The engine is shutting down."_s));
        },
        int(leftMs));
}

void QuotaCaller::answered(const std::shared_ptr<QuotaCall> &call, const Result<redis::Value> &answer)
{
    const AnswerKind kind = kindOf(answer, call->items);
    if (kind == AnswerKind::NotExecuted || (kind == AnswerKind::Away && mayAskAgain(*call, answer)))
        askAgainSoon(call);
    else if (kind == AnswerKind::NoPolicy && !call->wasRepublished)
        publishAndAskAgain(call);
    else
        end(*call, kind, answer);
}

/// A call that met a missing policy met a fault of our own, whatever came after it: that is never taken for an outage.
void QuotaCaller::end(QuotaCall &call, AnswerKind kind, const Result<redis::Value> &answer)
{
    const bool isOurFault = kind == AnswerKind::NoPolicy || (kind == AnswerKind::Away && call.wasRepublished);
    call.ended(isOurFault ? AnswerKind::Broken : kind, answer);
}

/// The connection broke under a call that can be asked again: worth waiting for the next one, unless nobody comes.
bool QuotaCaller::mayAskAgain(QuotaCall &call, const Result<redis::Value> &answer) const
{
    call.wasCut = call.wasCut || (!answer && answer.error().code == "redis_closed"_L1);
    return call.isRepeatable && call.wasCut && !m_connection.isBreakerOpen();
}

void QuotaCaller::askAgainSoon(const std::shared_ptr<QuotaCall> &call)
{
    const qint64 leftMs = call->endMs - m_clock.monotonicMs();
    QTimer::singleShot(int(std::clamp(leftMs, qint64(0), askAgainMs)), Qt::PreciseTimer, this,
                       [this, call] { send(call); });
}

QCoro::Task<> QuotaCaller::publishAndAskAgain(std::shared_ptr<QuotaCall> call)
{
    call->wasRepublished = true;
    const QPointer<QuotaCaller> self(this);
    const Result<redis::Value> answer = co_await m_projects.publish(call->project, call->endMs);
    if (self && answer && !answer->isError())
        send(call);
    else
        call->ended(AnswerKind::Broken, answer);
}

} // namespace tidekeeper::limits
