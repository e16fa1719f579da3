// SPDX-License-Identifier: Apache-2.0
#include "scenario.h"

#include <QtCore/QProcess>

using namespace Qt::StringLiterals;

namespace tidekeeper::faults {

const QString namespaceAddress = u"10.77.0.1"_s;

namespace {

void ip(const QString &arguments)
{
    if (QProcess::execute(u"ip"_s, arguments.split(u' ')) != 0)
        qFatal("ip %s failed", qPrintable(arguments));
}

void config(Rig &rig, const QString &name, const QString &value)
{
    rig.redis().cli({u"config"_s, u"set"_s, name, value});
}

Scenario stopped()
{
    return {.name = u"stopped"_s,
            .opensBreaker = true,
            .begin = [](Rig &rig) { rig.redis().stop(); },
            .end = [](Rig &rig) { rig.redis().start(); }};
}

Scenario sigstop()
{
    return {.name = u"sigstop"_s,
            .opensBreaker = true,
            .begin = [](Rig &rig) { rig.redis().pause(); },
            .end = [](Rig &rig) { rig.redis().resume(); }};
}

/// It takes what it is sent and says nothing; in the end all that hangs is cut.
Scenario silentPeer()
{
    return {.name = u"silent-peer"_s,
            .opensBreaker = true,
            .usesProxy = true,
            .begin = [](Rig &rig) { rig.proxy().setMode(RedisProxy::Mode::Silent); },
            .end =
                [](Rig &rig) {
                    rig.proxy().setMode(RedisProxy::Mode::Pass);
                    rig.proxy().closeAll();
                }};
}

/// The address goes away and what is sent to it vanishes: no refusal, no reset.
Scenario unroutable()
{
    return {.name = u"unroutable"_s,
            .opensBreaker = true,
            .needsNamespace = true,
            .begin = [](Rig &) { ip(u"addr del "_s + namespaceAddress + u"/32 dev lo"_s); },
            .end = [](Rig &) { ip(u"addr add "_s + namespaceAddress + u"/32 dev lo"_s); }};
}

Scenario outOfMemory()
{
    return {.name = u"out-of-memory"_s,
            .begin = [](Rig &rig) { config(rig, u"maxmemory"_s, u"1"_s); },
            .end = [](Rig &rig) { config(rig, u"maxmemory"_s, u"0"_s); }};
}

Scenario readOnly()
{
    return {.name = u"read-only"_s,
            .begin =
                [](Rig &rig) {
                    rig.redis().cli({u"replicaof"_s, u"127.0.0.1"_s, u"1"_s});
                },
            .end =
                [](Rig &rig) {
                    rig.redis().cli({u"replicaof"_s, u"no"_s, u"one"_s});
                }};
}

Scenario replyCut()
{
    return {.name = u"reply-cut"_s,
            .usesProxy = true,
            .mayCut = true,
            .begin = [](Rig &rig) { rig.proxy().setMode(RedisProxy::Mode::CutAnswers); },
            .end = [](Rig &rig) { rig.proxy().setMode(RedisProxy::Mode::Pass); }};
}

/// Again and again while the load runs.
Scenario ownFault(const QString &name, std::function<void(Rig &)> strike)
{
    return {.name = name,
            .kind = Scenario::Kind::OurFault,
            .begin = strike,
            .during =
                [strike](Rig &rig, int answered) {
                    if (answered % 50 == 0)
                        strike(rig);
                },
            .end = strike};
}

Scenario restart()
{
    return {.name = u"restart"_s,
            .kind = Scenario::Kind::Passing,
            .mayCut = true,
            .begin = [](Rig &) {},
            .during =
                [](Rig &rig, int answered) {
                    if (answered == 100) {
                        rig.redis().stop();
                        rig.redis().start();
                    }
                },
            .end = [](Rig &) {}};
}

} // namespace

const QList<Scenario> &scenarios()
{
    static const QList<Scenario> all{
        stopped(),
        sigstop(),
        silentPeer(),
        unroutable(),
        outOfMemory(),
        readOnly(),
        replyCut(),
        ownFault(u"function-flush"_s,
                 [](Rig &rig) {
                     rig.redis().cli({u"function"_s, u"flush"_s});
                 }),
        ownFault(u"policy-deleted"_s,
                 [](Rig &rig) {
                     rig.redis().cli({u"del"_s, rig.policyKey()});
                 }),
        restart(),
    };
    return all;
}

} // namespace tidekeeper::faults
