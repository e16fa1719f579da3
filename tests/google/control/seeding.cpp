// SPDX-License-Identifier: Apache-2.0
#include "google/control/controlapi.h"
#include "google/control/fields.h"

#include <QtCore/QJsonDocument>

// POST /sim/accounts, /sim/service-accounts and /sim/devices: what tests and the demo start from.
namespace tidekeeper::googlesim {

using namespace Qt::StringLiterals;

namespace {

struct AccountsWanted {
    QStringList emails;
    QString projectId;
    QString clientId;
    QString clientSecret;
    QString topic;
    QStringList scopes;
    QString preset;
    int threads = 0;
    qint64 firstExpiryMs = 0; ///< from now; 0 = no watch at all
    qint64 lastExpiryMs = 0;

    /// Expiries are spread evenly, the first account's first.
    qint64 expiryMs(qsizetype index) const
    {
        const qsizetype steps = std::max<qsizetype>(emails.size() - 1, 1);
        return firstExpiryMs + (lastExpiryMs - firstExpiryMs) * index / steps;
    }
};

AccountsWanted accountsWanted(Fields &fields)
{
    constexpr qint64 most = 400LL * 24 * 3600 * 1000;
    AccountsWanted wanted;
    const qint64 count = fields.integer(u"count"_s, 1, 1, 100'000);
    const QString prefix = fields.string(u"prefix"_s, u"user"_s);
    const QString domain = fields.string(u"domain"_s, u"example.com"_s);
    wanted.emails = fields.strings(u"emails"_s);
    for (qint64 i = 1; wanted.emails.isEmpty() || (i <= count && !fields.has(u"emails"_s)); ++i)
        wanted.emails << u"%1-%2@%3"_s.arg(prefix, QString::number(i), domain);
    wanted.projectId = fields.string(u"project_id"_s, defaultProjectId());
    wanted.clientId = fields.string(u"client_id"_s, defaultClientId());
    wanted.clientSecret = fields.string(u"client_secret"_s, defaultClientSecret());
    wanted.topic = fields.string(u"topic"_s, u"projects/%1/topics/gmail"_s.arg(wanted.projectId));
    wanted.scopes = fields.strings(u"scopes"_s, {u"https://www.googleapis.com/auth/gmail.modify"_s});
    wanted.preset = fields.string(u"preset"_s);
    wanted.threads = int(fields.integer(u"threads"_s, 40, 0, 10'000));
    wanted.firstExpiryMs = fields.integer(u"watch_expires_in_ms"_s, 0, -most, most);
    wanted.lastExpiryMs = fields.integer(u"watch_expires_in_ms_last"_s, wanted.firstExpiryMs, -most, most);
    if (!wanted.preset.isEmpty() && !presetFrom(wanted.preset))
        fields.complain(u"The field preset must be gmail-2026 or gmail-legacy."_s);
    return wanted;
}

/// One account with a fresh grant, as POST /api/v1/accounts/import takes it.
QJsonObject makeAccount(World &world, const AccountsWanted &wanted, qsizetype index)
{
    const QString email = wanted.emails[index].trimmed().toLower();
    const auto user = world.user(email, wanted.projectId, wanted.threads);
    const qint64 nowMs = world.clock.wallMs();
    if (const qint64 expiryMs = wanted.expiryMs(index); expiryMs != 0)
        user->watch = Watch{wanted.topic, {}, nowMs, nowMs + expiryMs};
    const Grant grant{world.newRefreshToken(), email, wanted.clientId, wanted.scopes};
    world.grants.insert(grant.refreshToken, grant);
    QJsonObject line{
        {u"id"_s, email.section(u'@', 0, 0)}, {u"email"_s, email}, {u"refresh_token"_s, grant.refreshToken}};
    if (user->watch) {
        line.insert(u"watch_expires_at"_s, user->watch->expiresAtMs);
        line.insert(u"history_id"_s, QString::number(user->mailbox->historyId()));
    }
    return line;
}

} // namespace

Answer ControlApi::accounts(const QJsonObject &asked, const Call &call)
{
    Fields fields(asked);
    const AccountsWanted wanted = accountsWanted(fields);
    if (!fields.problem().isEmpty())
        return controlProblem(fields.problem());
    const auto project = m_world.project(wanted.projectId);
    if (const auto preset = presetFrom(wanted.preset))
        project->preset = preset;
    m_world.clients.insert_or_assign(wanted.clientId,
                                     OAuthClient{wanted.clientId, wanted.clientSecret, wanted.projectId});
    QJsonArray made;
    QByteArray lines;
    for (qsizetype i = 0; i < wanted.emails.size(); ++i) {
        const QJsonObject line = makeAccount(m_world, wanted, i);
        made.append(line);
        lines += QJsonDocument(line).toJson(QJsonDocument::Compact) + '\n';
    }
    if (call.query.queryItemValue(u"format"_s) == u"jsonl"_s) {
        Answer answer;
        answer.contentType = "application/x-ndjson";
        answer.body = lines;
        return answer;
    }
    return Answer::json({{u"accounts"_s, made},
                         {u"project_id"_s, wanted.projectId},
                         {u"project_number"_s, project->number},
                         {u"client_id"_s, wanted.clientId},
                         {u"client_secret"_s, wanted.clientSecret},
                         {u"topic"_s, wanted.topic}});
}

Answer ControlApi::serviceAccounts(const QJsonObject &asked)
{
    Fields fields(asked);
    const QString projectId = fields.string(u"project_id"_s, defaultProjectId());
    const QString email = fields.string(u"email"_s, u"notifier@%1.iam.gserviceaccount.com"_s.arg(projectId));
    const QString publicPem = fields.string(u"public_key"_s);
    const QStringList delegated = fields.strings(u"delegated_scopes"_s);
    const auto key = publicPem.isEmpty() ? RsaKey::generate() : RsaKey::fromPublicPem(publicPem.toLatin1());
    if (!key)
        fields.complain(u"The field public_key must be an RSA public key in PEM form."_s);
    if (!fields.problem().isEmpty())
        return controlProblem(fields.problem());
    m_world.project(projectId);
    m_world.serviceAccounts.insert_or_assign(email, ServiceAccount{email, projectId, *key, delegated});
    if (!publicPem.isEmpty())
        return Answer::json({{u"client_email"_s, email}, {u"project_id"_s, projectId}});
    // The form of Google's own key files, so that it can be written to one as it is.
    return Answer::json({{u"type"_s, u"service_account"_s},
                         {u"project_id"_s, projectId},
                         {u"private_key_id"_s, u"1"_s},
                         {u"private_key"_s, QString::fromLatin1(key->privatePem())},
                         {u"client_email"_s, email},
                         {u"client_id"_s, u"100000000000000000001"_s},
                         {u"token_uri"_s, u"https://oauth2.googleapis.com/token"_s}});
}

Answer ControlApi::devices(const QJsonObject &asked)
{
    Fields fields(asked);
    const QString projectId = fields.string(u"project_id"_s, defaultProjectId());
    const QString platform = fields.string(u"platform"_s, u"android"_s);
    const QStringList tokens = fields.strings(u"tokens"_s);
    const bool registered = fields.boolean(u"registered"_s, true);
    if (tokens.isEmpty())
        fields.complain(u"The field tokens is needed: the registration tokens to add or change."_s);
    if (!fields.problem().isEmpty())
        return controlProblem(fields.problem());
    for (const QString &token : tokens) {
        Device &device = m_world.devices[token];
        device = {token, projectId, platform, registered, device.messages};
    }
    return Answer::json({{u"devices"_s, tokens.size()}});
}

} // namespace tidekeeper::googlesim
