// SPDX-License-Identifier: Apache-2.0
#include "oracle.h"

#include "queue/queuecall.h"

#include <QtCore/QJsonArray>

#include <algorithm>

using namespace Qt::StringLiterals;

namespace tidekeeper::faults {

/// What journal and history say of one id.
struct Oracle::Job {
    int number = 0; ///< of its wish; 0: nobody wished it
    int started = 0;
    int accepted = 0; ///< last ends (done, dead) that the queue accepted, as workers saw it
    QList<QJsonObject> finished; ///< entries of the history
    QHash<qint64, qint64> lastStart; ///< by process: rank() of its latest start
};

namespace {

/// Greater for a later start of the same job, in the queue's order.
qint64 rank(const JournalLine &start)
{
    return start.tries * 1'000LL + start.word.toInt();
}

/// A few examples stand for all of a kind.
class Findings {
public:
    void add(const QString &kind, const QString &example)
    {
        ++m_counts[kind];
        m_examples.insert(kind, example);
    }
    QStringList sentences() const
    {
        QStringList list;
        for (auto it = m_counts.cbegin(); it != m_counts.cend(); ++it)
            list += u"%1 %2 (such as %3)"_s.arg(it.value()).arg(it.key(), m_examples[it.key()]);
        return list;
    }

private:
    QMap<QString, int> m_counts;
    QHash<QString, QString> m_examples;
};

/// Nothing when the entry of the history says what the wish says.
QString difference(const Wish &wish, const QJsonObject &entry, int maxStarts)
{
    const bool isPoison = wish.isPoison(maxStarts);
    const QString outcome = wish.isHopeless || isPoison ? u"dead"_s : u"done"_s;
    const QString errorClass = isPoison ? u"stalled"_s : wish.isHopeless ? u"hopeless"_s : QString();
    if (entry[u"outcome"].toString() != outcome)
        return u"%1 (%2 after %3 starts) instead of %4"_s.arg(
            entry[u"outcome"].toString(), entry[u"error_class"].toString(),
            QString::number(entry[u"starts"].toInt()), outcome);
    if (!errorClass.isEmpty() && entry[u"error_class"].toString() != errorClass)
        return u"dead as %1 instead of %2"_s.arg(entry[u"error_class"].toString(), errorClass);
    if (entry[u"attempts"].toInt() != wish.fails || entry[u"deferrals"].toInt() != wish.defers)
        return u"%1 attempts and %2 deferrals instead of %3 and %4"_s.arg(entry[u"attempts"].toInt())
            .arg(entry[u"deferrals"].toInt())
            .arg(wish.fails)
            .arg(wish.defers);
    if (isPoison && entry[u"starts"].toInt() != maxStarts)
        return u"a dead letter after %1 starts instead of %2"_s.arg(entry[u"starts"].toInt()).arg(maxStarts);
    return {};
}

} // namespace

Oracle::Oracle(QString queue, redis::FunctionLibrary &library, redis::RedisConnection &connection)
    : m_queue(std::move(queue)), m_library(library), m_connection(connection)
{ }

QStringList Oracle::judge(const QList<Wish> &wishes, const QList<JournalLine> &journal,
                          Expectation expectation) const
{
    Jobs jobs;
    Findings findings;
    QHash<int, QStringList> idsOf;
    for (const Wish &wish : wishes)
        jobs[wish.job].number = wish.number;
    for (const JournalLine &line : journal) {
        Job &job = jobs[QString::fromUtf8(line.job)];
        if (line.what == "started") {
            job.number = line.number;
            ++job.started;
            qint64 &last = job.lastStart[line.pid];
            last = std::max(last, rank(line));
        } else if (line.what == "ended" && (line.word == "done" || line.word == "dead")) {
            ++job.accepted;
            for (const qint64 other : job.lastStart) {
                if (other > job.lastStart.value(line.pid))
                    findings.add(u"ended by a worker that had lost it"_s, u"job %1"_s.arg(job.number));
            }
        } else if (line.what == "lost") {
            findings.add(u"lost"_s, QString::fromUtf8(line.job));
        }
    }
    jobs.remove(u"-"_s); // lines of no job
    QStringList faults = addHistory(jobs);
    for (auto it = jobs.cbegin(); it != jobs.cend(); ++it)
        idsOf[it->number] += it.key();

    int dead = 0;
    for (const Wish &wish : wishes) {
        const QString name = u"job %1"_s.arg(wish.number);
        if (idsOf[wish.number].size() > 1 + (expectation.repeatsMayDouble ? wish.repeats : 0))
            findings.add(u"more than once in the queue"_s, name);
        for (const QString &id : idsOf[wish.number]) {
            const Job &job = jobs[id];
            if (job.started == 0)
                findings.add(u"never started"_s, name);
            if (expectation.startsOnce && job.started > 1)
                findings.add(u"started more than once"_s, name);
            if (job.accepted > 1)
                findings.add(u"with more than one accepted end"_s, name);
            if (job.finished.size() != 1) {
                findings.add(u"finished not once"_s, u"%1: %2 times"_s.arg(name).arg(job.finished.size()));
                continue;
            }
            const QString other = difference(wish, job.finished.first(), expectation.maxStarts);
            if (!other.isEmpty())
                findings.add(u"ended otherwise"_s, name + u": "_s + other);
            dead += job.finished.first()[u"outcome"].toString() == u"dead";
        }
    }
    for (const QString &id : idsOf[0])
        findings.add(u"that nobody enqueued"_s, id);
    return faults + findings.sentences() + leftBehind(dead);
}

QStringList Oracle::addHistory(Jobs &jobs) const
{
    queue::JobHistory history(m_queue, m_library);
    queue::FinishedFilter filter;
    filter.limit = 1'000;
    do {
        const Result<QJsonObject> page = QCoro::waitFor(history.finished(filter));
        if (!page)
            return {u"the history cannot be read: "_s + page.error().text};
        for (const QJsonValue &entry : (*page)[u"jobs"].toArray())
            jobs[entry[u"id"].toString()].finished.append(entry.toObject());
        filter.cursor = (*page)[u"next_cursor"].toString();
    } while (!filter.cursor.isEmpty());
    return {};
}

redis::Value Oracle::command(QList<QByteArray> arguments) const
{
    return QCoro::waitFor(m_connection.command(std::move(arguments), 10'000)).value_or(redis::Value());
}

/// All keys of the queue, without their prefix.
QList<QByteArray> Oracle::keys() const
{
    const QByteArray prefix = queue::queuePrefix(m_queue) + ':';
    QList<QByteArray> found;
    QByteArray cursor = "0";
    do {
        const redis::Value page = command({"SCAN", cursor, "MATCH", prefix + '*', "COUNT", "1000"});
        if (page.items.size() != 2)
            return {"SCAN is not answered"};
        cursor = page.items[0].text;
        for (const redis::Value &key : page.items[1].items)
            found.append(key.text.mid(prefix.size()));
    } while (cursor != "0");
    return found;
}

QStringList Oracle::leftBehind(int expectedDead) const
{
    const QByteArray prefix = queue::queuePrefix(m_queue) + ':';
    QStringList faults;
    int bodies = 0, logs = 0;
    for (const QByteArray &key : keys()) {
        if (key.startsWith("job:"))
            ++bodies;
        else if (key.startsWith("log:"))
            ++logs;
        else if (key == "delayed" || key == "claimed" || key == "running" || key == "dedupe" || key == "lost"
                 || key == "SCAN is not answered")
            faults += u"left behind: "_s + QString::fromLatin1(key);
    }
    const auto expect = [&faults](qint64 is, qint64 due, const QString &what) {
        if (is != due)
            faults += u"%1 %2 instead of %3"_s.arg(is).arg(what).arg(due);
    };
    expect(command({"ZCARD", prefix + "dead"}).toInteger(), expectedDead, u"dead letters"_s);
    expect(bodies, expectedDead, u"job bodies"_s);
    expect(logs, expectedDead, u"job logs"_s);
    for (const QByteArray lane : {"stream:urgent", "stream:normal"}) {
        expect(command({"XLEN", prefix + lane}).toInteger(), 0, u"entries of "_s + QString::fromLatin1(lane));
        const redis::Value pending = command({"XPENDING", prefix + lane, "workers"});
        expect(pending.items.isEmpty() ? 0 : pending.items[0].toInteger(), 0,
               u"pending entries of "_s + QString::fromLatin1(lane));
    }
    return faults;
}

} // namespace tidekeeper::faults
