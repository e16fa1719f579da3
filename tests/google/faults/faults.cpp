// SPDX-License-Identifier: Apache-2.0
#include "google/faults/faults.h"

#include "google/control/fields.h"
#include "google/faults/kinds.h"
#include "google/world/world.h"

#include <QtCore/QCryptographicHash>
#include <QtCore/QJsonDocument>

#include <algorithm>

namespace tidekeeper::googlesim {

using namespace Qt::StringLiterals;

namespace {

bool matches(const QString &pattern, const QString &method)
{
    return pattern.endsWith(u'*') ? method.startsWith(QStringView(pattern).chopped(1)) : pattern == method;
}

bool sameOrOpen(const QString &wanted, const QString &actual)
{
    return wanted.isEmpty() || wanted == actual;
}

/// A place of the mailbox between 0 and 1 that never changes, so that "1 % of the accounts" are always the same.
double placeOf(const QString &email)
{
    const QByteArray hash = QCryptographicHash::hash(email.toUtf8(), QCryptographicHash::Sha256);
    quint32 number = 0;
    memcpy(&number, hash.constData(), sizeof number);
    return number / 4'294'967'296.0;
}

QByteArray bodyOf(const QJsonValue &value)
{
    if (value.isObject())
        return QJsonDocument(value.toObject()).toJson(QJsonDocument::Compact);
    return value.toString().toUtf8();
}

void readWhen(Fields &fields, Fault &fault, const World &world)
{
    fault.methods = fields.strings(u"methods"_s, fault.kind ? fault.kind->methods : QStringList());
    fault.only.email = fields.string(u"account"_s).toLower();
    fault.only.projectId = fields.string(u"project_id"_s);
    fault.only.clientId = fields.string(u"client_id"_s);
    fault.only.topic = fields.string(u"topic"_s);
    fault.only.device = fields.string(u"device"_s);
    fault.share = fields.number(u"share"_s, 1, 0, 1);
    fault.accountsShare = fields.number(u"accounts_share"_s, 1, 0, 1);
    fault.timesLeft = fields.integer(u"times"_s, -1, 1, 1'000'000'000);
    constexpr qint64 year = 366LL * 24 * 3600 * 1000;
    if (const qint64 forMs = fields.integer(u"for_ms"_s, -1, 1, year); forMs > 0)
        fault.untilUs = world.clock.monotonicUs() + forMs * 1000;
    if (const qint64 untilMs = fields.integer(u"until_ms"_s, -1, 0, 1LL << 52); untilMs >= 0)
        fault.untilUs = world.clock.monotonicUs() + (untilMs - world.clock.wallMs()) * 1000;
}

void readWhat(Fields &fields, Fault &fault)
{
    fault.executes = fields.boolean(u"executes"_s, fault.kind && fault.kind->name == u"cut"_s);
    fault.status = int(fields.integer(u"status"_s, 503, 200, 599));
    fault.ms = fields.integer(u"ms"_s, 1000, 0, 600'000);
    fault.value = fields.integer(u"value"_s, 0, 0, 1'000'000'000);
    fault.retryAfterS = fields.integer(u"retry_after_s"_s, -1, 0, 86'400);
    fault.minutes = fields.integer(u"minutes"_s, 15, 1, 1440);
    fault.text = fields.string(u"text"_s);
    fault.body = bodyOf(fields.any(u"body"_s));
    if (fault.kind && fault.kind->stage == Faults::Stage::Limit && !fields.has(u"value"_s))
        fields.complain(u"The field value is needed: the limit to enforce."_s);
}

} // namespace

Faults::Faults(World &world, quint64 seed) : m_world(world), m_random(seed) { }

bool Faults::strikes(Fault &fault, const Subject &subject)
{
    const bool meant = std::any_of(fault.methods.begin(), fault.methods.end(),
                                   [&](const QString &pattern) { return matches(pattern, subject.method); })
        && sameOrOpen(fault.only.email, subject.email) && sameOrOpen(fault.only.projectId, subject.projectId)
        && sameOrOpen(fault.only.clientId, subject.clientId) && sameOrOpen(fault.only.topic, subject.topic)
        && sameOrOpen(fault.only.device, subject.device);
    if (!meant || fault.timesLeft == 0)
        return false;
    if (fault.untilUs >= 0 && m_world.clock.monotonicUs() >= fault.untilUs)
        return false;
    if (fault.accountsShare < 1 && (subject.email.isEmpty() || placeOf(subject.email) >= fault.accountsShare))
        return false;
    if (fault.lockedUntilUs.value(subject.email, -1) == 0)
        return false;
    if (fault.share < 1 && std::uniform_real_distribution(0.0, 1.0)(m_random) >= fault.share)
        return false;
    if (fault.timesLeft > 0)
        --fault.timesLeft;
    ++fault.strikes;
    return true;
}

std::optional<Faults::Hit> Faults::answer(Stage stage, const Subject &subject)
{
    for (Fault &fault : m_faults) {
        if (fault.kind->stage != stage || !strikes(fault, subject))
            continue;
        if (auto answer = fault.kind->answer(fault, subject, m_world))
            return Hit{std::move(*answer), fault.kind->name, fault.executes};
    }
    return std::nullopt;
}

Faults::Delivery Faults::delivery(const Subject &subject)
{
    Delivery delivery;
    for (Fault &fault : m_faults) {
        if (fault.kind->stage != Stage::Delivery || !strikes(fault, subject))
            continue;
        if (fault.kind->name == u"slow"_s) {
            delivery.delayMs += int(fault.ms);
            continue;
        }
        delivery.ending = fault.kind->name == u"silent"_s ? Answer::Ending::Silent : Answer::Ending::Cut;
        delivery.executes = fault.executes;
    }
    return delivery;
}

Answer Faults::run(const Subject &subject, const std::function<Answer()> &work)
{
    const Delivery how = delivery(subject);
    auto hit = answer(Stage::Access, subject);
    if (!hit)
        hit = answer(Stage::Failure, subject);
    Answer result;
    if (how.executes && (!hit || hit->executes))
        result = work();
    if (hit)
        result = std::move(hit->answer);
    result.delayMs = how.delayMs;
    result.ending = how.ending;
    return result;
}

qint64 Faults::limit(const QString &kind, const Subject &subject, qint64 otherwise)
{
    for (Fault &fault : m_faults) {
        if (fault.kind->name == kind && strikes(fault, subject))
            return fault.value;
    }
    return otherwise;
}

QString Faults::add(const QJsonObject &asked)
{
    Fields fields(asked);
    Fault fault;
    fault.asked = asked;
    fault.kind = findKind(fields.string(u"kind"_s));
    if (!fault.kind) {
        QStringList names;
        for (const Kind &kind : kinds())
            names << kind.name;
        fields.complain(u"The field kind must be one of %1."_s.arg(names.join(u", "_s)));
    }
    readWhen(fields, fault, m_world);
    readWhat(fields, fault);
    if (!fields.problem().isEmpty())
        return fields.problem();
    fault.id = ++m_lastId;
    m_faults.push_back(std::move(fault));
    return {};
}

bool Faults::remove(int id)
{
    return std::erase_if(m_faults, [id](const Fault &fault) { return fault.id == id; }) > 0;
}

QJsonObject Faults::list() const
{
    QJsonArray faults;
    for (const Fault &fault : m_faults) {
        QJsonObject item = fault.asked;
        item.insert(u"id"_s, fault.id);
        item.insert(u"strikes"_s, fault.strikes);
        faults.append(item);
    }
    return {{u"faults"_s, faults}};
}

} // namespace tidekeeper::googlesim
