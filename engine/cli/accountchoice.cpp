// SPDX-License-Identifier: Apache-2.0
#include "cli/accountchoice.h"

#include "cli/humanize.h"
#include "cli/progressbar.h"

#include <QtCore/QJsonArray>

namespace tidekeeper::cli {

using namespace Qt::StringLiterals;

namespace {

const QString accountsPath = u"/api/v1/accounts"_s;
constexpr int accountsInOnePart = 5'000; // far less than the time that an answer may take
constexpr qsizetype mostSkipped = 100;

void addUp(QJsonObject &sum, const QJsonObject &part, const QString &doneName)
{
    for (const QString &name : {u"matched"_s, doneName, u"skipped_count"_s})
        sum[name] = sum[name].toInteger() + part[name].toInteger();
    QJsonArray skipped = sum["skipped"_L1].toArray();
    const QJsonArray more = part["skipped"_L1].toArray();
    for (const QJsonValue &one : more) {
        if (skipped.size() < mostSkipped)
            skipped.append(one);
    }
    sum["skipped"_L1] = skipped;
}

} // namespace

void AccountChoice::addTo(CLI::App *command, const std::string &states)
{
    command->add_option("id", ids, "Accounts");
    command->add_flag("--all", all, "All of them");
    command->add_option("--band", band, "All of this band");
    if (!states.empty())
        command->add_option("--state", state, "All in this state: " + states);
    command->add_option("--expiring-within", expiringWithin, "All that lapse within, for example 24h");
    command->add_option("--project", project, "All of this project");
    command->add_option("--query,-q", query, "All with this part of the id, or this address");
    command->add_flag("--dry-run", dryRun, "Only counts");
    command->add_flag("--yes,-y", yes, "Does not ask first");
}

Result<QJsonObject> AccountChoice::selection() const
{
    QJsonObject filter;
    const auto put = [&filter](const QString &name, const std::string &value) {
        if (!value.empty())
            filter[name] = text(value);
    };
    put(u"band"_s, band);
    put(u"state"_s, state);
    put(u"expiring_within"_s, expiringWithin);
    put(u"project"_s, project);
    put(u"q"_s, query);
    if (!ids.empty() && (all || !filter.isEmpty()))
        return fail(u"usage"_s, u"Name accounts or choose them with options, not both."_s);
    if (ids.empty() && !all && filter.isEmpty()) {
        return fail(u"usage"_s,
                    u"Name accounts, or choose them with --band, --expiring-within, --project, --query or "
                    "--all."_s);
    }
    if (ids.empty())
        return QJsonObject{{u"filter"_s, filter}};
    QJsonArray named;
    for (const std::string &id : ids)
        named.append(text(id));
    return QJsonObject{{u"ids"_s, named}};
}

QString accountPath(const std::string &id, const QString &verb)
{
    return accountsPath + u'/' + segment(id) + verb;
}

Result<ExitCode> each(Session &session, const std::vector<std::string> &ids, const QByteArray &method,
                      const QString &verb, const QString &done, const QJsonObject &body)
{
    ExitCode code = ExitCode::Ok;
    QJsonArray answers;
    for (const std::string &id : ids) {
        const Result<QJsonObject> answer = session.send(method, accountPath(id, verb), body);
        if (!answer && answer.error().code == "unreachable"_L1)
            return fail(answer.error());
        if (!answer) {
            session.complain(u"%1: %2"_s.arg(text(id), answer.error().text));
            code = ExitCode::Refused;
        } else if (session.json) {
            answers.append(*answer);
        } else {
            session.print(u"%1: %2\n"_s.arg(printable(text(id)), done));
        }
    }
    if (session.json)
        session.print(QJsonObject{{u"accounts"_s, answers}});
    return code;
}

Result<QJsonObject> sendInParts(Session &session, const QString &verb, QJsonObject selection,
                                const QString &doneName)
{
    if (!selection.contains("ids"_L1))
        selection.insert("limit"_L1, accountsInOnePart);
    const ProgressBar bar(0);
    QJsonObject sum;
    QString cursor;
    do {
        if (!cursor.isEmpty())
            selection.insert("cursor"_L1, cursor);
        const Result<QJsonObject> part = session.send("POST", accountsPath + verb, selection);
        bar.clear();
        if (!part) {
            const qint64 done = sum[doneName].toInteger();
            return fail(part.error().code,
                        done > 0 ? u"%1 %2 accounts are done; the same command does the rest."_s.arg(
                            part.error().text, number(done))
                                 : part.error().text);
        }
        addUp(sum, *part, doneName);
        cursor = (*part)["next_cursor"_L1].toString();
        const qint64 matched = sum["matched"_L1].toInteger();
        if (!cursor.isEmpty())
            bar.show(matched, matched);
    } while (!cursor.isEmpty());
    bar.clear();
    return sum;
}

void printSkipped(Session &session, const QJsonObject &answer)
{
    const QJsonArray skipped = answer["skipped"_L1].toArray();
    for (const QJsonValue &one : skipped)
        session.complain(
            u"%1: %2"_s.arg(printable(one["id"_L1].toString()), printable(one["reason"_L1].toString())));
    const qint64 more = answer["skipped_count"_L1].toInteger() - skipped.size();
    if (more > 0)
        session.complain(u"and %1 more were left alone."_s.arg(number(more)));
}

} // namespace tidekeeper::cli
