// SPDX-License-Identifier: Apache-2.0
// accounts explain, timeline and adopt, and what accounts show says beside the fields.
#include "cli/accountviews.h"

#include "cli/commands.h"
#include "cli/confirm.h"
#include "cli/humanize.h"
#include "cli/localengine.h"
#include "cli/table.h"

#include <QtCore/QDateTime>
#include <QtCore/QJsonArray>
#include <QtCore/QJsonDocument>

#include <algorithm>

namespace tidekeeper::cli {

using namespace Qt::StringLiterals;

namespace {

constexpr int entriesInStory = 5;
constexpr int mostPerPage = 200;

QString pathOf(const std::string &id, const QString &view)
{
    return u"/api/v1/accounts/"_s + segment(id) + u'/' + view;
}

Result<QJsonArray> timeline(Session &session, const std::string &id, int limit)
{
    QJsonArray entries;
    QString cursor;
    do {
        QUrlQuery query;
        query.addQueryItem(u"limit"_s,
                           QString::number(std::min<qsizetype>(limit - entries.size(), mostPerPage)));
        if (!cursor.isEmpty())
            query.addQueryItem(u"cursor"_s, cursor);
        const Result<QJsonObject> page = session.get(pathOf(id, u"timeline"_s), query);
        if (!page)
            return fail(page.error());
        const QJsonArray found = page->value("entries"_L1).toArray();
        for (const QJsonValue &entry : found)
            entries.append(entry);
        cursor = page->value("next_cursor"_L1).toString();
    } while (!cursor.isEmpty() && entries.size() < limit);
    return entries;
}

/// "code: http_503, text: Gmail answered 503."
QString detailsText(const QJsonObject &details)
{
    QStringList parts;
    for (auto it = details.begin(); it != details.end(); ++it) {
        QString value = it->toVariant().toString();
        if (it->isObject())
            value = QString::fromUtf8(QJsonDocument(it->toObject()).toJson(QJsonDocument::Compact));
        if (it.key().endsWith("_at"_L1))
            value = instant(it->toInteger());
        if (it.key() != "subscription"_L1 && !value.isEmpty())
            parts.append(it.key() + u": "_s + value);
    }
    return printable(parts.join(u", "_s));
}

void printTimeline(Session &session, const QJsonArray &entries)
{
    Table table({{u"WHEN"_s}, {u"WHAT"_s}, {u"DETAILS"_s}});
    for (const QJsonValue &entry : entries)
        table.add({instant(entry["at"_L1].toInteger()), printable(entry["kind"_L1].toString()),
                   detailsText(entry["details"_L1].toObject())});
    session.print(table.text());
}

void printExplanation(Session &session, const QJsonObject &explanation)
{
    const QJsonArray subscriptions = explanation["subscriptions"_L1].toArray();
    for (const QJsonValue &subscription : subscriptions) {
        session.print(printable(subscription["summary"_L1].toString()) + u'\n');
        const QJsonArray sentences = subscription["sentences"_L1].toArray();
        for (const QJsonValue &sentence : sentences)
            session.print(u"  "_s + printable(sentence.toString()) + u'\n');
    }
}

Result<ExitCode> explainOne(Session &session, const std::string &id)
{
    const Result<QJsonObject> explanation = session.get(pathOf(id, u"explain"_s));
    if (!explanation)
        return fail(explanation.error());
    if (session.json)
        session.print(*explanation);
    else
        printExplanation(session, *explanation);
    return ExitCode::Ok;
}

Result<ExitCode> showTimeline(Session &session, const std::string &id, int limit)
{
    const Result<QJsonArray> entries = timeline(session, id, limit);
    if (!entries)
        return fail(entries.error());
    if (session.json)
        session.print({{u"entries"_s, *entries}});
    else if (entries->isEmpty())
        session.print(u"Nothing has happened to this account yet.\n"_s);
    else
        printTimeline(session, *entries);
    return ExitCode::Ok;
}

Result<ExitCode> adopt(Session &session, bool yes)
{
    if (!session.json && !yes) {
        session.print(
            u"This engine then works on its database. Another one that works on a copy of it would renew "
            "and stop the same watches: make sure that it is gone.\n"_s);
        if (!isConfirmed(yes)) {
            session.complain(u"Nothing was changed."_s);
            return ExitCode::Refused;
        }
    }
    const Result<QJsonObject> answer = session.send("POST", u"/api/v1/accounts/adopt"_s);
    if (!answer)
        return fail(answer.error());
    if (session.json)
        session.print(*answer);
    else
        session.print((*answer)["adopted"_L1].toBool()
                          ? u"This engine is now the one that works on its database.\n"_s
                          : u"This engine works on its database already.\n"_s);
    return ExitCode::Ok;
}

} // namespace

Result<QJsonObject> storyOf(Session &session, const std::string &id)
{
    const Result<QJsonObject> explanation = session.get(pathOf(id, u"explain"_s));
    if (!explanation)
        return fail(explanation.error());
    const Result<QJsonArray> entries = timeline(session, id, entriesInStory);
    if (!entries)
        return fail(entries.error());
    return QJsonObject{{u"explanation"_s, *explanation}, {u"timeline"_s, *entries}};
}

void printStory(Session &session, const QJsonObject &story)
{
    session.print(u"\n"_s);
    printExplanation(session, story["explanation"_L1].toObject());
    const QJsonArray entries = story["timeline"_L1].toArray();
    if (entries.isEmpty())
        return;
    session.print(u"\n"_s);
    printTimeline(session, entries);
}

void addAccountViews(CLI::App &accounts, Session &session)
{
    auto explained = std::make_shared<std::string>();
    CLI::App *explain = accounts.add_subcommand("explain", "Why an account is due, not due or stopped");
    explain->add_option("id", *explained, "The account")->required();
    session.onCalled(explain, [&session, explained] { return explainOne(session, *explained); });

    struct TimelineOptions {
        std::string id;
        int limit = 50;
    };
    auto options = std::make_shared<TimelineOptions>();
    CLI::App *past = accounts.add_subcommand("timeline", "What happened to an account, the newest first");
    past->add_option("id", options->id, "The account")->required();
    past->add_option("--limit,-n", options->limit, "How many at most")
        ->check(CLI::Range(1, 1'000))
        ->capture_default_str();
    session.onCalled(past,
                     [&session, options] { return showTimeline(session, options->id, options->limit); });

    auto yes = std::make_shared<bool>(false);
    CLI::App *take = accounts.add_subcommand(
        "adopt", "Says that this engine, and no other, works on its database, which may be a copy");
    take->add_flag("--yes,-y", *yes, "Does not ask first");
    session.onCalled(take, [&session, yes] { return adopt(session, *yes); });
}

} // namespace tidekeeper::cli
