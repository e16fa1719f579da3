// SPDX-License-Identifier: Apache-2.0
#include "cli/simulateoptions.h"

#include "config/config.h"

#include <QtCore/QFile>
#include <QtCore/QJsonDocument>
#include <QtCore/QJsonObject>

#include <array>

using namespace Qt::StringLiterals;

namespace tidekeeper::cli {

namespace {

struct TroubleName {
    QLatin1StringView name;
    simulate::Trouble trouble;
};

constexpr std::array troubles{TroubleName{"worker"_L1, simulate::Trouble::Worker},
                              TroubleName{"google"_L1, simulate::Trouble::Google},
                              TroubleName{"network"_L1, simulate::Trouble::Network},
                              TroubleName{"secret"_L1, simulate::Trouble::Secret},
                              TroubleName{"grants"_L1, simulate::Trouble::Grants},
                              TroubleName{"topic"_L1, simulate::Trouble::Topic}};

tl::unexpected<Error> usage(const QString &text)
{
    return fail(u"usage"_s, text);
}

/// A duration > 0 of an option.
Result<qint64> lengthFrom(const QString &option, const std::string &given)
{
    const Result<qint64> ms = config::parseDuration(QString::fromStdString(given));
    if (!ms || *ms <= 0)
        return usage(u"%1 %2 is not a duration: write for example 6h, 90m or 7d."_s.arg(
            option, QString::fromStdString(given)));
    return *ms;
}

Result<> setLengths(const SimulateOptions &options, simulate::Scenario &scenario)
{
    const struct {
        QString option;
        const std::string &given;
        qint64 &ms;
    } lengths[]{{u"--cluster"_s, options.cluster, scenario.clusterMs},
                {u"--lifetime"_s, options.lifetime, scenario.lifetimeMs},
                {u"--window"_s, options.window, scenario.windowMs},
                {u"--call-time"_s, options.callTime, scenario.callMs}};
    for (const auto &length : lengths) {
        const Result<qint64> ms = lengthFrom(length.option, length.given);
        if (!ms)
            return fail(ms.error());
        length.ms = *ms;
    }
    if (scenario.clusterMs > scenario.lifetimeMs)
        return usage(u"--cluster must not be longer than --lifetime."_s);
    return {};
}

Result<> setShares(const SimulateOptions &options, simulate::Scenario &scenario)
{
    const struct {
        QString option;
        const std::string &given;
        double &share;
    } shares[]{{u"--errors"_s, options.errors, scenario.errors},
               {u"--revoked"_s, options.revoked, scenario.revoked},
               {u"--lost-answers"_s, options.lostAnswers, scenario.lostAnswers}};
    for (const auto &share : shares) {
        const Result<double> value = shareFrom(QString::fromStdString(share.given));
        if (!value)
            return usage(share.option + u' ' + value.error().text);
        share.share = *value;
    }
    return {};
}

} // namespace

Result<double> shareFrom(const QString &text)
{
    const bool isPercent = text.endsWith(u'%');
    bool isNumber = false;
    const double value = (isPercent ? text.chopped(1) : text).toDouble(&isNumber) / (isPercent ? 100 : 1);
    if (!isNumber || !(value >= 0 && value <= 1)) // nan is neither
        return usage(u"%1 is not a share: write for example 2% or 0.02."_s.arg(text));
    return value;
}

Result<simulate::Outage> outageFrom(const QString &text)
{
    const QString name = text.section(u'=', 0, 0);
    const QString when = text.section(u'=', 1);
    const auto known = std::find_if(troubles.begin(), troubles.end(),
                                    [&](const TroubleName &trouble) { return trouble.name == name; });
    const Result<qint64> length = config::parseDuration(when.section(u'@', 0, 0));
    const Result<qint64> from = config::parseDuration(when.section(u'@', 1));
    if (known == troubles.end() || !length || *length <= 0 || !from)
        return usage(
            u"--outage %1 is not understood: write KIND=LENGTH@START, for example google=24h@10d; kinds are "
            "worker, google, network, secret, grants, topic."_s.arg(text));
    return simulate::Outage{known->trouble, *from, *length};
}

Result<QList<qint64>> expiriesFrom(QIODevice &lines)
{
    QList<qint64> expiries;
    for (int number = 1; !lines.atEnd(); ++number) {
        const QByteArray line = lines.readLine().trimmed();
        if (line.isEmpty())
            continue;
        bool isNumber = false;
        qint64 at = line.toLongLong(&isNumber);
        if (line.startsWith('{')) {
            const QJsonDocument document = QJsonDocument::fromJson(line);
            isNumber = document.isObject();
            at = document["watch_expires_at"_L1].toInteger();
        }
        if (!isNumber || at < 0)
            return usage(
                u"--expiries: line %1 is neither an expiry in epoch milliseconds nor an exported account."_s
                    .arg(number));
        expiries.append(at);
    }
    if (expiries.isEmpty())
        return usage(u"--expiries: there is no line in it."_s);
    return expiries;
}

Result<simulate::Scenario> scenarioOf(const SimulateOptions &options, qint64 startMs)
{
    simulate::Scenario scenario;
    scenario.accounts = options.accounts;
    scenario.days = options.days;
    scenario.seed = options.seed;
    scenario.batchSize = options.batchSize;
    scenario.consumers = options.consumers;
    if (Result<> set = setLengths(options, scenario); !set)
        return fail(set.error());
    if (Result<> set = setShares(options, scenario); !set)
        return fail(set.error());
    for (const std::string &text : options.outages) {
        const Result<simulate::Outage> outage = outageFrom(QString::fromStdString(text));
        if (!outage)
            return fail(outage.error());
        scenario.outages.append(*outage);
    }
    if (options.expiries.empty())
        return scenario;
    QFile file(QString::fromStdString(options.expiries));
    if (!file.open(QIODevice::ReadOnly))
        return usage(u"--expiries %1 cannot be read: %2."_s.arg(file.fileName(), file.errorString()));
    const Result<QList<qint64>> expiries = expiriesFrom(file);
    if (!expiries)
        return fail(expiries.error());
    scenario.expiries = *expiries;
    scenario.startMs = startMs;
    return scenario;
}

Result<QList<simulate::PolicyKind>> policiesOf(const SimulateOptions &options)
{
    QList<simulate::PolicyKind> kinds;
    for (const std::string &name : options.policies) {
        const std::optional<simulate::PolicyKind> kind = simulate::policyFrom(QString::fromStdString(name));
        if (!kind)
            return usage(u"--policy %1 is not known: there are expiry-day, fifty-per-hour and ours."_s.arg(
                QString::fromStdString(name)));
        kinds.append(*kind);
    }
    if (kinds.isEmpty())
        kinds = QList<simulate::PolicyKind>(simulate::allPolicies.begin(), simulate::allPolicies.end());
    return kinds;
}

} // namespace tidekeeper::cli
