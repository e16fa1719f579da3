// SPDX-License-Identifier: Apache-2.0
#include "cli/accountviews.h"
#include "cli/commands.h"
#include "cli/humanize.h"
#include "cli/localengine.h"
#include "cli/table.h"
#include "protocol/accountview.h"

#include <QtCore/QDateTime>
#include <QtCore/QJsonArray>

#include <algorithm>

namespace tidekeeper::cli {

using namespace Qt::StringLiterals;

namespace {

const QString accountsPath = u"/api/v1/accounts"_s;

QString pathOf(const std::string &id)
{
    return accountsPath + u'/' + segment(id);
}

struct ListOptions {
    std::string band;
    std::string state;
    std::string project;
    std::string expiringWithin;
    std::string query;
    std::string sort;
    bool due = false;
    int limit = 100;
};

constexpr int mostPerPage = 1000;

QUrlQuery queryOf(const ListOptions &options, qsizetype wanted, const QString &cursor)
{
    QUrlQuery query;
    const auto add = [&query](const QString &name, const QString &value) {
        if (!value.isEmpty()) // percent-encoded here: QUrlQuery keeps a + as it is
            query.addQueryItem(name, QString::fromLatin1(QUrl::toPercentEncoding(value)));
    };
    add(u"band"_s, text(options.band));
    add(u"state"_s, text(options.state));
    add(u"project"_s, text(options.project));
    add(u"expiring_within"_s, text(options.expiringWithin));
    add(u"q"_s, text(options.query));
    add(u"sort"_s, text(options.sort));
    add(u"due"_s, options.due ? u"true"_s : QString());
    add(u"limit"_s, QString::number(std::min<qsizetype>(wanted, mostPerPage)));
    add(u"cursor"_s, cursor);
    return query;
}

void printList(Session &session, const protocol::AccountListView &list)
{
    const qint64 nowMs = QDateTime::currentMSecsSinceEpoch();
    Table table({{u"ID"_s},
                 {u"E-MAIL"_s},
                 {u"STATE"_s},
                 {u"BAND"_s},
                 {u"WATCH LAPSES"_s, Table::Align::Right},
                 {u"ATTEMPTS"_s, Table::Align::Right},
                 {u"ERROR"_s}});
    for (const protocol::AccountView &account : list.accounts) {
        const qint64 expiresAt = account.gmail.expiresAt;
        table.add({account.id, account.email, account.state, account.band,
                   expiresAt == 0 ? u"no watch"_s : relative(expiresAt, nowMs),
                   number(account.gmail.attempts), account.gmail.error.code});
    }
    session.print(table.text());
    session.print(u"%1 of %2 accounts\n"_s.arg(number(list.accounts.size()), number(list.total)));
}

Result<ExitCode> list(Session &session, const ListOptions &options)
{
    QJsonObject all;
    QJsonArray accounts;
    QString cursor;
    do {
        const Result<QJsonObject> page =
            session.get(accountsPath, queryOf(options, options.limit - accounts.size(), cursor));
        if (!page)
            return fail(page.error());
        all = *page;
        const QJsonArray rows = page->value("accounts"_L1).toArray();
        for (const QJsonValue &row : rows)
            accounts.append(row);
        cursor = page->value("next_cursor"_L1).toString();
    } while (!cursor.isEmpty() && accounts.size() < options.limit);
    all[u"accounts"_s] = accounts;
    if (session.json)
        session.print(all);
    else
        printList(session, protocol::accountListFrom(all));
    return ExitCode::Ok;
}

QString grantText(const protocol::AccountView &account)
{
    if (account.grantKind != "stored"_L1 || account.hasRefreshToken)
        return account.grantKind;
    return account.state == "needs_reauth"_L1 ? u"gone: its refresh token no longer works and is destroyed. "
                                                u"Its owner connects the mailbox again; then "
                                                u"give the new one with accounts add --refresh-token-file."_s
                                              : u"stored, but there is no refresh token"_s;
}

void printAccount(Session &session, const protocol::AccountView &account)
{
    const qint64 nowMs = QDateTime::currentMSecsSinceEpoch();
    const auto line = [&session](const QString &name, const QString &value) {
        session.print(name.leftJustified(18) + printable(value) + u'\n');
    };
    const auto at = [nowMs](qint64 ms) {
        return ms == 0 ? u"never"_s : u"%1 (%2)"_s.arg(instant(ms), relative(ms, nowMs));
    };
    line(u"Account"_s, account.id);
    line(u"E-mail"_s, account.email);
    line(u"Project, client"_s, account.project + u", "_s + account.client);
    line(u"State"_s,
         account.stateReason.isEmpty() ? account.state : u"%1: %2"_s.arg(account.state, account.stateReason));
    line(u"Band"_s, account.band);
    line(u"Grant"_s, grantText(account));
    line(u"Watch lapses"_s, at(account.gmail.expiresAt));
    line(u"Last success"_s, at(account.gmail.lastSuccessAt));
    const bool isRenewed = account.state == "active"_L1;
    line(u"Next renewal"_s,
         isRenewed ? at(account.gmail.nextTargetAt) : u"none while it is "_s + account.state);
    if (isRenewed && account.gmail.nextAttemptAt != 0)
        line(u"Next attempt"_s, at(account.gmail.nextAttemptAt));
    line(u"Attempts"_s,
         u"%1 failed, %2 put off since the last success"_s.arg(number(account.gmail.attempts),
                                                               number(account.gmail.deferrals)));
    line(u"History id"_s, account.historyId.isEmpty() ? u"unknown"_s : account.historyId);
    if (const protocol::ErrorView &error = account.gmail.error; !error.code.isEmpty())
        line(u"Last error"_s,
             u"%1 (%2), %3: %4"_s.arg(error.code, error.errorClass, at(error.at), error.text));
}

Result<ExitCode> shown(Session &session, const Result<QJsonObject> &account)
{
    if (!account)
        return fail(account.error());
    if (session.json)
        session.print(*account);
    else
        printAccount(session, protocol::accountFrom(*account));
    return ExitCode::Ok;
}

/// With why it is due or not, and what happened last.
Result<ExitCode> showWhole(Session &session, const std::string &id)
{
    Result<QJsonObject> account = session.get(pathOf(id));
    if (!account)
        return fail(account.error());
    const Result<QJsonObject> story = storyOf(session, id);
    if (!story)
        return fail(story.error());
    if (!session.json) {
        printAccount(session, protocol::accountFrom(*account));
        printStory(session, *story);
        return ExitCode::Ok;
    }
    for (auto it = story->begin(); it != story->end(); ++it)
        account->insert(it.key(), it.value());
    session.print(*account);
    return ExitCode::Ok;
}

struct AddOptions {
    std::string id;
    std::string email;
    std::string project;
    std::string client;
    std::string language;
    std::string refreshTokenFile;
    std::string historyId;
    qint64 watchExpiresAt = -1;
};

Result<QJsonObject> bodyOf(const AddOptions &options)
{
    QJsonObject body;
    const auto put = [&body](const QString &name, const std::string &value) {
        if (!value.empty())
            body[name] = text(value);
    };
    put(u"email"_s, options.email);
    put(u"project"_s, options.project);
    put(u"client"_s, options.client);
    put(u"language"_s, options.language);
    put(u"history_id"_s, options.historyId);
    if (options.watchExpiresAt >= 0)
        body[u"watch_expires_at"_s] = options.watchExpiresAt;
    if (!options.refreshTokenFile.empty()) {
        const Result<QByteArray> token = readToken(text(options.refreshTokenFile));
        if (!token)
            return fail(token.error());
        body[u"refresh_token"_s] = QString::fromUtf8(*token);
    }
    return body;
}

Result<ExitCode> add(Session &session, const AddOptions &options)
{
    const Result<QJsonObject> body = bodyOf(options);
    return body ? shown(session, session.send("PUT", pathOf(options.id), *body)) : fail(body.error());
}

void addList(CLI::App &accounts, Session &session)
{
    auto options = std::make_shared<ListOptions>();
    CLI::App *command = accounts.add_subcommand("list", "Accounts, the next to lapse first");
    command->add_option("--band", options->band, "healthy, delayed, late, critical, expired or none");
    command->add_option("--state", options->state, "active, paused, needs_reauth, parked or leaving");
    command->add_option("--project", options->project, "Name of a Google project");
    command->add_option("--expiring-within", options->expiringWithin, "For example 24h");
    command->add_option("--query,-q", options->query, "Part of the id, or a whole address");
    command->add_flag("--due", options->due,
                      "Only those that the next scan would renew, also while only observing");
    command->add_option("--sort", options->sort, "For example expires_at or -expires_at");
    command->add_option("--limit,-n", options->limit, "How many at most")
        ->check(CLI::Range(1, 1'000'000))
        ->capture_default_str();
    session.onCalled(command, [&session, options] { return list(session, *options); });
}

void addAdd(CLI::App &accounts, Session &session)
{
    auto options = std::make_shared<AddOptions>();
    CLI::App *command = accounts.add_subcommand("add", "Adds an account or changes what is given of it");
    command->add_option("id", options->id, "Your own id of the account")->required();
    command->add_option("--email", options->email, "Address of the mailbox")->required();
    command->add_option("--project", options->project, "Name of a Google project");
    command->add_option("--client", options->client, "Name of an OAuth client of the project");
    command->add_option("--language", options->language, "Of its user, for example ko");
    command->add_option("--refresh-token-file", options->refreshTokenFile,
                        "File with the refresh token; never on the command line, where others can see it");
    command->add_option("--history-id", options->historyId, "Gmail history id to go on from");
    command->add_option("--watch-expires-at", options->watchExpiresAt,
                        "When its present watch lapses, milliseconds since 1970 UTC");
    session.onCalled(command, [&session, options] { return add(session, *options); });
}

} // namespace

void addAccounts(CLI::App &app, Session &session)
{
    CLI::App *accounts = app.add_subcommand("accounts", "Mailboxes and their watches");
    accounts->require_subcommand(1);
    addList(*accounts, session);
    auto id = std::make_shared<std::string>();
    CLI::App *show = accounts->add_subcommand("show", "One account");
    show->add_option("id", *id, "The account")->required();
    session.onCalled(show, [&session, id] { return showWhole(session, *id); });
    addAdd(*accounts, session);
    addExport(*accounts, session);
    addImport(*accounts, session);
    addWaves(*accounts, session);
    addAccountActions(*accounts, session);
    addAccountViews(*accounts, session);
}

} // namespace tidekeeper::cli
