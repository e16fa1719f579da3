// SPDX-License-Identifier: Apache-2.0
#include "simulate/judgement.h"

#include "decide/watchanswer.h"

using namespace Qt::StringLiterals;

namespace tidekeeper::simulate {

namespace {

const QString timeoutText = u"No answer came in time."_s;

watchrenewal::ApiAnswer apiAnswerOf(const HttpAnswer &answer)
{
    if (answer.status == 0)
        return {u"timeout"_s, timeoutText, 0, {}, {}, {}};
    return {{}, {}, answer.status, {}, {}, QString::fromUtf8(answer.body)};
}

} // namespace

core::TokenAnswer tokenAnswerOf(const HttpAnswer &answer)
{
    if (answer.status == 0)
        return {0, {}, u"timeout"_s, timeoutText};
    return {answer.status, answer.body, {}, {}};
}

QJsonObject watchOutcomeOf(const HttpAnswer &answer, qint64 nowMs)
{
    return watchrenewal::renewOutcome(apiAnswerOf(answer), nowMs);
}

renewal::Attempted attemptedOf(const Answers &answers, qint64 nowMs)
{
    bool freshToken = false;
    if (answers.token) {
        const core::TokenAnswer token = tokenAnswerOf(*answers.token);
        if (!core::tokenGrantFrom(token))
            return {core::tokenFailure(token, core::GrantKind::Stored), renewal::Step::Token, false};
        freshToken = true;
    }
    const QJsonObject outcome = watchOutcomeOf(answers.watch.value(), nowMs);
    return {core::outcomeFrom(Status::success(), outcome), renewal::Step::Watch, freshToken};
}

} // namespace tidekeeper::simulate
