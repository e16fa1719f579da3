// SPDX-License-Identifier: Apache-2.0
#include "google/gmail/gmailapi.h"

#include "google/gmail/errors.h"

#include <QtCore/QJsonDocument>
#include <QtCore/QUrl>

#include <algorithm>

namespace tidekeeper::googlesim {

using namespace Qt::StringLiterals;

namespace {

const QString &plainPrefix()
{
    static const QString prefix = u"/gmail/v1/users/"_s;
    return prefix;
}

const QString &uploadPrefix()
{
    static const QString prefix = u"/upload/gmail/v1/users/"_s;
    return prefix;
}

QString decoded(const QString &segment)
{
    return QUrl::fromPercentEncoding(segment.toUtf8());
}

/// What stands in the braces of the template, or nothing when the path is another one.
std::optional<QStringList> fit(const QString &pathTemplate, const QStringList &segments)
{
    const QStringList wanted = pathTemplate.split(u'/');
    if (wanted.size() != segments.size())
        return std::nullopt;
    QStringList parameters;
    for (qsizetype i = 0; i < wanted.size(); ++i) {
        if (wanted[i].startsWith(u'{'))
            parameters << decoded(segments[i]);
        else if (wanted[i] != segments[i])
            return std::nullopt;
    }
    return parameters;
}

/// Counts the user's calls in flight as long as it lives.
std::shared_ptr<const void> enter(const std::shared_ptr<User> &user)
{
    Usage &usage = user->usage;
    ++usage.inFlight;
    usage.worstInFlight = std::max(usage.worstInFlight, usage.inFlight);
    return {nullptr, [user](const void *) { --user->usage.inFlight; }};
}

void countCall(Usage &usage, const QString &method)
{
    ++usage.calls;
    ++usage.callsByMethod[method];
}

} // namespace

QStringList GmailCall::strings(const QString &field) const
{
    QStringList list;
    const QJsonArray array = body.value(field).toArray();
    for (const QJsonValue &value : array)
        list << value.toString();
    return list;
}

bool allows(const QStringList &scopes, Permission permission)
{
    const auto any = [&scopes](std::initializer_list<QString> names) {
        return std::any_of(names.begin(), names.end(),
                           [&scopes](const QString &name) { return scopes.contains(name); });
    };
    const QString base = u"https://www.googleapis.com/auth/gmail."_s;
    if (scopes.contains(u"https://mail.google.com/"_s))
        return true;
    switch (permission) {
    case Permission::Read:
        return any({base + u"modify"_s, base + u"readonly"_s, base + u"metadata"_s});
    case Permission::Modify:
        return any({base + u"modify"_s});
    case Permission::Send:
        return any({base + u"modify"_s, base + u"send"_s, base + u"compose"_s});
    case Permission::Delete:
        return false;
    }
    Q_UNREACHABLE();
}

GmailApi::GmailApi(World &world, Faults &faults) : m_world(world), m_faults(faults)
{
    for (const auto &group : {mailboxMethods(), messageMethods(), threadMethods(), draftMethods(),
                              labelMethods(), settingsMethods()})
        m_methods.insert(m_methods.end(), group.begin(), group.end());
}

bool GmailApi::serves(const QString &path)
{
    return path.startsWith(plainPrefix()) || path.startsWith(uploadPrefix());
}

std::optional<GmailApi::Route> GmailApi::route(const Call &call) const
{
    const QString prefix = call.path.startsWith(plainPrefix()) ? plainPrefix() : uploadPrefix();
    QStringList segments = call.path.mid(prefix.size()).split(u'/');
    Route route;
    route.user = decoded(segments.takeFirst());
    for (const GmailMethod &method : m_methods) {
        if (method.verb != call.method)
            continue;
        if (auto parameters = fit(method.path, segments)) {
            route.method = &method;
            route.parameters = std::move(*parameters);
            return route;
        }
    }
    return std::nullopt;
}

Answer GmailApi::handle(const Call &call)
{
    const auto found = route(call);
    if (!found)
        return errors::notFound();
    const auto token = m_world.accepted(call.headers.value("authorization"));
    if (!token)
        return errors::invalidCredentials();
    const auto user = m_world.findUser(token->email, token->projectId);
    if (!user) // a service account that speaks for nobody has no mailbox
        return errors::failedPrecondition(u"Precondition check failed."_s);
    return authorized(call, *found, *token, user);
}

Answer GmailApi::authorized(const Call &call, const Route &route, const AccessToken &token,
                            const std::shared_ptr<User> &user)
{
    const QString &method = route.method->id;
    Subject subject{method, user->email, user->project->id};
    if (method == u"gmail.users.watch"_s)
        subject.topic = QJsonDocument::fromJson(call.body).object().value(u"topicName"_s).toString();
    const Faults::Delivery delivery = m_faults.delivery(subject);
    countCall(user->usage, method);
    countCall(user->project->usage, method);

    Answer answer;
    const qint64 cost = costOf(method, m_world.presetOf(*user->project)).value_or(0);
    if (auto denied = m_faults.answer(Faults::Stage::Access, subject))
        answer = std::move(denied->answer);
    else if (route.user != u"me"_s && route.user.toLower() != user->email)
        answer = errors::delegationDenied(route.user);
    else if (!allows(token.scopes, route.method->permission))
        answer = errors::insufficientScope(method);
    else if (auto refused = refusal(*user, subject, cost))
        answer = std::move(*refused);
    else
        answer = admitted(call, route, user, subject, delivery.executes);
    answer.delayMs += delivery.delayMs + int(m_world.settings.latencyMs);
    answer.ending = delivery.ending;
    return answer;
}

std::optional<Answer> GmailApi::refusal(User &user, const Subject &subject, qint64 cost)
{
    Project &project = *user.project;
    const qint64 nowUs = m_world.clock.monotonicUs();
    Limits limits = m_world.limitsOf(project);
    if (auto hit = m_faults.answer(Faults::Stage::Rate, subject)) {
        bookRefusal(user.usage, project.usage, cost, hit->kind, limits.chargeRefused, nowUs);
        return std::move(hit->answer);
    }
    limits.userPerMinute = m_faults.limit(u"user_limit"_s, subject, limits.userPerMinute);
    limits.projectPerMinute = m_faults.limit(u"project_limit"_s, subject, limits.projectPerMinute);
    limits.concurrency = m_faults.limit(u"concurrency_cap"_s, subject, limits.concurrency);

    const Preset preset = m_world.presetOf(project);
    const QString &form = m_world.settings.userLimitAnswer;
    switch (admit(user.usage, project.usage, cost, limits, nowUs)) {
    case Verdict::Admitted:
        return std::nullopt;
    case Verdict::Concurrency:
        return errors::tooManyConcurrent();
    case Verdict::ProjectMinute:
        return errors::unitsExhausted(errors::Scope::Project, preset, limits.projectPerMinute,
                                      project.number);
    case Verdict::UserMinute:
    case Verdict::UserBurst:
        return form == u"exhausted"_s
            ? errors::exhausted()
            : errors::unitsExhausted(errors::Scope::User, preset, limits.userPerMinute, project.number,
                                     form == u"too_many_requests"_s ? 429 : 403);
    }
    Q_UNREACHABLE();
}

Answer GmailApi::admitted(const Call &call, const Route &route, const std::shared_ptr<User> &user,
                          const Subject &subject, bool executes)
{
    auto inFlight = enter(user);
    auto failure = m_faults.answer(Faults::Stage::Failure, subject);
    Answer answer;
    if (executes && (!failure || failure->executes)) {
        const bool isJson = call.headers.value("content-type").startsWith("application/json");
        QJsonParseError problem;
        const QJsonDocument body = QJsonDocument::fromJson(call.body, &problem);
        GmailCall gmailCall{call, route.parameters, isJson ? body.object() : QJsonObject(), *user, m_world};
        answer = isJson && !call.body.isEmpty() && !body.isObject()
            ? errors::invalidArgument(u"Invalid JSON payload received. %1"_s.arg(problem.errorString()))
            : route.method->serve(gmailCall);
    }
    if (failure)
        answer = std::move(failure->answer);
    answer.inFlight.push_back(std::move(inFlight));
    return answer;
}

} // namespace tidekeeper::googlesim
