// SPDX-License-Identifier: Apache-2.0
#include "http/accountrequest.h"

#include "core/email.h"
#include "core/nearestname.h"
#include "http/accountfields.h"

using namespace Qt::StringLiterals;

namespace tidekeeper::http {

using core::GrantKind;
using store::AccountChange;
using store::GrantChange;

namespace {

constexpr qsizetype mostIdBytes = 256;
constexpr qsizetype mostNameBytes = 64;
constexpr qsizetype mostTextBytes = 4096;

const auto defaultName = "default"_L1;

const QStringList writable{u"id"_s,         u"email"_s,         u"project"_s,
                           u"client"_s,     u"language"_s,      u"watch_expires_at"_s,
                           u"history_id"_s, u"refresh_token"_s, u"grant"_s,
                           u"topic"_s,      u"label_ids"_s,     u"label_filter_behavior"_s};

const QStringList readOnly{u"state"_s,
                           u"state_reason"_s,
                           u"band"_s,
                           u"grant_kind"_s,
                           u"has_refresh_token"_s,
                           u"last_success_at"_s,
                           u"next_target_at"_s,
                           u"next_attempt_at"_s,
                           u"attempts"_s,
                           u"deferrals"_s,
                           u"error"_s,
                           u"subscriptions"_s,
                           u"created_at"_s,
                           u"updated_at"_s};

// Reads body[field] into target when it is there.
template<typename T, typename Read>
Result<> readInto(std::optional<T> &target, const QJsonObject &body, const QString &field, Read read)
{
    const auto it = body.find(field);
    if (it == body.end())
        return {};
    Result<T> value = read(field, *it);
    if (!value)
        return fail(value.error());
    target = std::move(*value);
    return {};
}

// What every watch of the account asks for, as far as body says it.
Result<QJsonObject> watchData(const QJsonObject &body)
{
    const std::pair<QString, Result<QJsonValue> (*)(const QString &, const QJsonValue &)> fields[]{
        {u"topic"_s, topicField},
        {u"label_ids"_s, labelIdsField},
        {u"label_filter_behavior"_s, labelBehaviorField},
    };
    QJsonObject data;
    for (const auto &[field, read] : fields) {
        if (!body.contains(field))
            continue;
        const Result<QJsonValue> value = read(field, body[field]);
        if (!value)
            return fail(value.error());
        data.insert(field, *value);
    }
    return data;
}

Result<QString> emailField(const QString &field, const QJsonValue &value)
{
    if (!value.isString())
        return badField(field, u"must be a string."_s);
    return core::checkedEmail(value.toString());
}

Result<QString> nameField(const QString &field, const QJsonValue &value)
{
    return textField(field, value, mostNameBytes, Null::Refused);
}

// The owner's token service: {"token_url"}.
Result<QJsonObject> httpGrant(const QJsonObject &grant)
{
    if (Result<> names = checkFieldNames(grant, {u"kind"_s, u"token_url"_s}, {}); !names)
        return fail(names.error());
    const Result<QString> url = tokenUrlField(u"grant.token_url"_s, grant[u"token_url"_s]);
    if (!url)
        return fail(url.error());
    return QJsonObject{{u"token_url"_s, *url}};
}

// A service account with domain-wide delegation: {"key_file", "sub"?, "scope"?}; sub is the mailbox when left out.
Result<QJsonObject> delegatedGrant(const QJsonObject &grant)
{
    const QStringList fields{u"key_file"_s, u"sub"_s, u"scope"_s};
    if (Result<> names = checkFieldNames(grant, fields + QStringList{u"kind"_s}, {}); !names)
        return fail(names.error());
    QJsonObject checked;
    for (const QString &field : fields) {
        if (field != "key_file"_L1 && !grant.contains(field))
            continue;
        const Result<QString> text =
            textField(u"grant."_s + field, grant[field], mostTextBytes, Null::Refused);
        if (!text)
            return fail(text.error());
        checked[field] = *text;
    }
    if (!checked[u"key_file"_s].toString().startsWith(u'/'))
        return badField(u"grant.key_file"_s, u"must be an absolute path on the engine's machine."_s);
    return checked;
}

QString oneOf(QStringList names)
{
    if (!names.contains(defaultName))
        names.prepend(defaultName);
    return u" Configured: "_s + names.join(u", "_s) + u'.';
}

} // namespace

AccountRequestReader::AccountRequestReader(KnownProjects projects, const oauth::Sealing &sealing)
    : m_projects(std::move(projects)), m_sealing(sealing)
{ }

Result<QString> AccountRequestReader::checkedId(const QJsonValue &id)
{
    const Result<QString> text = textField(u"id"_s, id, mostIdBytes, Null::Refused);
    if (text && *text != text->trimmed())
        return badField(u"id"_s, u"begins or ends with a space."_s);
    return text;
}

Result<AccountChange> AccountRequestReader::read(const QString &id, const QJsonObject &body) const
{
    if (Result<> names = checkFieldNames(body, writable, readOnly); !names)
        return fail(names.error());
    if (body.contains(u"id"_s) && body[u"id"_s] != id)
        return badField(u"id"_s, u"differs from the id in the path."_s);
    AccountChange change;
    const Result<> results[]{
        readInto(change.email, body, u"email"_s, emailField),
        readInto(change.project, body, u"project"_s, nameField),
        readInto(change.client, body, u"client"_s, nameField),
        readInto(change.language, body, u"language"_s, languageField),
        readInto(change.watchExpiresAt, body, u"watch_expires_at"_s, instantField),
        readInto(change.historyId, body, u"history_id"_s, historyIdField),
        checkProject(body),
    };
    for (const Result<> &result : results) {
        if (!result)
            return fail(result.error());
    }
    const Result<QJsonObject> data = watchData(body);
    if (!data)
        return fail(data.error());
    change.watchData = *data;
    Result<GrantChange> grant = readGrant(id, body);
    if (!grant)
        return fail(grant.error());
    change.grant = std::move(*grant);
    return change;
}

Result<> AccountRequestReader::checkProject(const QJsonObject &body) const
{
    const QString project = body[u"project"_s].toString(defaultName);
    if (project != defaultName && !m_projects.contains(project)) {
        return fail(u"unknown_project"_s,
                    u"\"project\" is not configured."_s + core::didYouMean(project, m_projects.keys())
                        + oneOf(m_projects.keys()),
                    {{u"field"_s, u"project"_s}});
    }
    const QString client = body[u"client"_s].toString(defaultName);
    // Without a project in the body the client belongs to the one that the account has already.
    QStringList clients;
    for (auto it = m_projects.begin(); it != m_projects.end(); ++it) {
        if (!body.contains(u"project"_s) || it.key() == project)
            clients += it.value();
    }
    if (client != defaultName && !clients.contains(client)) {
        return fail(u"unknown_client"_s,
                    u"\"client\" is not configured."_s + core::didYouMean(client, clients) + oneOf(clients),
                    {{u"field"_s, u"client"_s}});
    }
    return {};
}

Result<GrantChange> AccountRequestReader::readGrant(const QString &id, const QJsonObject &body) const
{
    const auto token = body.find(u"refresh_token"_s);
    const auto grant = body.find(u"grant"_s);
    if (token != body.end() && grant != body.end())
        return badField(u"grant"_s, u"and \"refresh_token\" exclude each other: give one of them."_s);
    if (grant != body.end())
        return readGrantObject(id, *grant);
    if (token == body.end())
        return GrantChange();
    if (token->isNull()) {
        GrantChange removal;
        removal.kind = GrantChange::Kind::Remove;
        return removal;
    }
    return readToken(id, u"refresh_token"_s, *token);
}

Result<GrantChange> AccountRequestReader::readToken(const QString &id, const QString &field,
                                                    const QJsonValue &value) const
{
    const Result<QString> text = secretField(field, value);
    if (!text)
        return fail(text.error());
    QByteArray plain = text->toUtf8();
    GrantChange grant;
    grant.kind = GrantChange::Kind::Set;
    grant.keyId = m_sealing.keyId();
    grant.fingerprint = m_sealing.valueFingerprint(plain);
    Result<QByteArray> sealed = m_sealing.seal(plain, id);
    oauth::cleanse(plain);
    if (!sealed)
        return fail(sealed.error());
    grant.sealedRefreshToken = std::move(*sealed);
    return grant;
}

Result<GrantChange> AccountRequestReader::readGrantObject(const QString &id, const QJsonValue &value) const
{
    GrantChange change;
    if (value.isNull()) {
        change.kind = GrantChange::Kind::Remove;
        change.grantKind = GrantKind::None;
        return change;
    }
    if (!value.isObject())
        return badField(u"grant"_s, u"must be an object with \"kind\", or null."_s);
    const QJsonObject grant = value.toObject();
    const std::optional<GrantKind> kind = core::grantKindFrom(grant[u"kind"_s].toString());
    if (kind == GrantKind::Stored) {
        if (Result<> names = checkFieldNames(grant, {u"kind"_s, u"refresh_token"_s}, {}); !names)
            return fail(names.error());
        return readToken(id, u"grant.refresh_token"_s, grant[u"refresh_token"_s]);
    }
    if (kind != GrantKind::Http && kind != GrantKind::Delegated)
        return badField(u"grant.kind"_s, u"must be \"stored\", \"http\" or \"delegated\"."_s);
    Result<QJsonObject> checked = kind == GrantKind::Http ? httpGrant(grant) : delegatedGrant(grant);
    if (!checked)
        return fail(checked.error());
    change.kind = GrantChange::Kind::Set;
    change.grantKind = *kind;
    change.grant = std::move(*checked);
    return change;
}

} // namespace tidekeeper::http
