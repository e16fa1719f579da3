// SPDX-License-Identifier: Apache-2.0
#include "quotaredis.h"

#include "redis/functionlibrary.h"

#include <QtCore/QDir>
#include <QtCore/QEventLoop>

namespace tidekeeper::test {

namespace {

/// The library's files in their order, which is that of their names. TIDEKEEPER_LUA names a folder with a changed copy,
/// to see which tests it fails.
QByteArray libraryCode()
{
    const QString changed = qEnvironmentVariable("TIDEKEEPER_LUA");
    const QDir folder(changed.isEmpty() ? QStringLiteral(TIDEKEEPER_SOURCE_DIR "/lua") : changed);
    QByteArray code;
    for (const QString &file : folder.entryList({QStringLiteral("quota*.lua")}, QDir::Files, QDir::Name)) {
        QFile copy(folder.filePath(file));
        if (changed.isEmpty())
            code += redis::FunctionLibrary::embedded(file);
        else if (copy.open(QFile::ReadOnly))
            code += copy.readAll();
    }
    return code;
}

} // namespace

QuotaRedis::QuotaRedis(QStringList serverArguments) : m_server(std::move(serverArguments)) { }

bool QuotaRedis::start()
{
    if (!m_server.start())
        return false;
    redis::Endpoint endpoint;
    endpoint.path = m_server.socketPath();
    m_connection = std::make_unique<redis::RedisConnection>(
        endpoint, redis::ConnectionOptions{.commandTimeoutMs = 10'000});
    m_connection->open();
    if (!QCoro::waitFor(m_connection->waitReady(10'000)))
        return false;
    if (const redis::Value loaded = command({"FUNCTION", "LOAD", libraryCode()}); loaded.isError()) {
        qWarning("%s", loaded.text.constData());
        return false;
    }
    setLimits({});
    return true;
}

void QuotaRedis::restart()
{
    command({"FLUSHALL"});
    setLimits({});
}

void QuotaRedis::setLimits(const QuotaLimits &limits, const QByteArray &project)
{
    command({"DEL", policyKey(project)});
    publish(limits, project);
}

qint64 QuotaRedis::changeLimits(const QuotaLimits &limits)
{
    publish(limits);
    return hash(policyKey())["changed_us"].toLongLong();
}

void QuotaRedis::publish(const QuotaLimits &limits, const QByteArray &project, qint64 nowUs)
{
    const auto reserve = [](qint64 capacity, double share) {
        return qint64(double(capacity) * 1000 * share);
    };
    const std::pair<const char *, qint64> fields[] = {
        {"account_capacity_milli", limits.accountCapacity * 1000},
        {"account_refill_per_minute", limits.accountRefill},
        {"account_reserve_milli", reserve(limits.accountCapacity, limits.accountReserve)},
        {"account_published", limits.accountPublished},
        {"project_capacity_milli", limits.projectCapacity * 1000},
        {"project_refill_per_minute", limits.projectRefill},
        {"project_reserve_milli", reserve(limits.projectCapacity, limits.projectReserve)},
        {"project_published", limits.projectPublished},
        {"key_ttl_ms", limits.keyTtlMs},
        {"enforce", limits.enforce},
        {"slots", limits.slots},
        {"day_budget", limits.dayBudget},
        {"day_action", limits.dayAction},
        {"day_start_us", limits.dayStartUs},
        {"day_end_us", limits.dayEndUs},
        {"day_after_us", limits.dayAfterUs},
    };
    QByteArrayList arguments;
    for (const auto &[field, value] : fields)
        arguments << field << QByteArray::number(value);
    const redis::Value published =
        callAt(nowUs, "tidekeeper_publish", {policyKey(project), projectKey(project)}, arguments);
    if (published.isError())
        qFatal("%s", published.text.constData());
}

QuotaDecision QuotaRedis::at(qint64 nowUs, const QuotaAsk &ask, const QByteArray &project)
{
    return decision(command(words(nowUs, ask, project)));
}

QuotaFreeze QuotaRedis::report(qint64 nowUs, const QuotaReport &report, const QByteArray &project)
{
    const redis::Value answer =
        callAt(nowUs, "tidekeeper_report",
               {accountKey(report.account, project), projectKey(project), policyKey(project)},
               {report.verdict, report.scope, report.family, QByteArray::number(report.retryAfterMs),
                QByteArray::number(report.grantUs), QByteArray::number(report.cost),
                QByteArray::number(report.toldLimit)});
    if (answer.isError())
        qFatal("%s", answer.text.constData());
    const auto item = [&answer](qsizetype i) { return answer.items[i].toInteger(); };
    return {item(0) == 1, item(1), item(2), item(3)};
}

QuotaRefund QuotaRedis::refund(qint64 nowUs, qint64 cost, qint64 grantUs, const QByteArray &account)
{
    const redis::Value answer =
        callAt(nowUs, "tidekeeper_refund",
               {accountKey(account), projectKey(), policyKey(), refundKey(account, grantUs)},
               {QByteArray::number(cost), QByteArray::number(grantUs)});
    if (answer.isError())
        qFatal("%s", answer.text.constData());
    return {answer.items[0].toInteger() == 1, answer.items[1].toInteger(), answer.items[2].toInteger(),
            answer.items[3].text};
}

redis::Value QuotaRedis::callAt(qint64 nowUs, const QByteArray &function, const QByteArrayList &keys,
                                const QByteArrayList &arguments)
{
    QList<QByteArray> words{"FCALL", function + (nowUs < 0 ? "_v1" : "_at_v1"),
                            QByteArray::number(keys.size())};
    words += keys;
    if (nowUs >= 0)
        words += QByteArray::number(nowUs);
    words += arguments;
    return command(words);
}

QuotaDecision QuotaRedis::now(const QuotaAsk &ask, const QByteArray &project)
{
    return decision(command(words(-1, ask, project)));
}

redis::Value QuotaRedis::command(const QList<QByteArray> &arguments)
{
    const Result<redis::Value> answer = QCoro::waitFor(m_connection->command(arguments));
    if (!answer)
        qFatal("%s: %s", arguments.first().constData(), qPrintable(answer.error().text));
    return *answer;
}

QList<redis::Value> QuotaRedis::commands(const QList<QList<QByteArray>> &several)
{
    QList<redis::Value> answers(several.size());
    QEventLoop loop;
    qsizetype missing = several.size();
    for (qsizetype i = 0; i < several.size(); ++i) {
        m_connection->send(several[i], [&answers, &missing, &loop, i](const Result<redis::Value> &answer) {
            if (!answer)
                qFatal("%s", qPrintable(answer.error().text));
            answers[i] = *answer;
            if (--missing == 0)
                loop.quit();
        });
    }
    if (missing > 0)
        loop.exec();
    return answers;
}

QMap<QByteArray, QByteArray> QuotaRedis::hash(const QByteArray &key)
{
    const redis::Value flat = command({"HGETALL", key});
    QMap<QByteArray, QByteArray> fields;
    for (qsizetype i = 0; i + 1 < flat.items.size(); i += 2)
        fields.insert(flat.items[i].text, flat.items[i + 1].text);
    return fields;
}

qint64 QuotaRedis::appendedBytes()
{
    for (const QByteArray &line : command({"INFO", "persistence"}).text.split('\n')) {
        if (line.startsWith("aof_current_size:"))
            return line.mid(line.indexOf(':') + 1).trimmed().toLongLong();
    }
    qFatal("the test's Redis has no append-only file");
}

QList<QByteArray> QuotaRedis::words(qint64 nowUs, const QuotaAsk &ask, const QByteArray &project)
{
    QByteArrayList keys{accountKey(ask.account, project), projectKey(project), policyKey(project)};
    if (!ask.id.isEmpty())
        keys.append(idKey(ask.account, ask.id));
    if (ask.hold)
        keys.append(slotsKey(ask.account, project));
    const QByteArray function = ask.hold ? "tidekeeper_hold" : "tidekeeper_acquire";
    QList<QByteArray> words{"FCALL", function + (nowUs < 0 ? "_v1" : "_at_v1"),
                            QByteArray::number(keys.size())};
    words += keys;
    if (nowUs >= 0)
        words.append(QByteArray::number(nowUs));
    words.append({ask.cost, ask.lane, ask.maxWaitMs});
    if (!ask.deadlineUs.isEmpty() || !ask.family.isEmpty())
        words.append(ask.deadlineUs);
    if (!ask.family.isEmpty())
        words.append(ask.family);
    return words;
}

QuotaDecision QuotaRedis::decision(const redis::Value &answer)
{
    QuotaDecision decision;
    if (answer.isError()) {
        decision.error = answer.text;
        return decision;
    }
    if (answer.items.size() != 9 && answer.items.size() != 11)
        qFatal("the answer has %lld items", qint64(answer.items.size()));
    const auto item = [&answer](qsizetype i) { return answer.items[i].toInteger(); };
    decision = {item(0) == 1, item(1), item(2), answer.items[3].text,
                item(4),      item(5), item(6), item(7),
                item(8),      {},      {},      {}};
    if (answer.items.size() == 11) {
        decision.slot = answer.items[9].text;
        decision.slotExpiresUs = item(10);
    }
    return decision;
}

} // namespace tidekeeper::test
