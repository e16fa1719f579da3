// SPDX-License-Identifier: Apache-2.0
#include "cases.h"
#include "rig.h"
#include "waiting.h"

using namespace Qt::StringLiterals;

namespace tidekeeper::faults {

namespace {

constexpr int manyStarts = 50;

} // namespace

/// Redis is killed and started in the middle of enqueues, starts and ends.
Verdict redisRestart(unsigned seed, bool isSmall)
{
    Rig rig(seed);
    WorkerSettings settings;
    settings.maxStarts = manyStarts;
    rig.addWorkers(3, settings);
    const int restarts = isSmall ? 3 : 20;
    for (int i = 0; i < restarts; ++i) {
        QTimer strike;
        strike.setSingleShot(true);
        QObject::connect(&strike, &QTimer::timeout, [&rig] {
            rig.redis().kill();
            if (!rig.redis().start())
                rig.blame(u"redis-server does not start again"_s);
        });
        strike.start(rig.between(0, 150));
        rig.produce(rig.mixture(isSmall ? 100 : 400));
        while (strike.isActive())
            pass(10);
        pass(rig.between(0, 500));
    }
    return rig.judge(u"%1 restarts"_s.arg(restarts));
}

/// Calls are executed and their answers lost. First the producer repeats itself until it is heard, with the dedupe
/// keys that make this safe; then workers work through it.
Verdict replyCut(unsigned seed, bool isSmall)
{
    Rig rig(seed, Rig::Path::Proxy);
    QTimer change;
    int cuts = 0;
    QObject::connect(&change, &QTimer::timeout, [&] {
        const bool cut = rig.between(0, 2) == 0;
        cuts += cut;
        rig.proxy().setMode(cut ? RedisProxy::Mode::CutAnswers : RedisProxy::Mode::Pass);
    });
    rig.proxy().setMode(RedisProxy::Mode::CutAnswers);
    change.start(60);
    const int batches = isSmall ? 3 : 20;
    for (int i = 0; i < batches; ++i) {
        rig.produce(rig.mixture(50));
        rig.proxy().setMode(RedisProxy::Mode::CutAnswers);
    }
    WorkerSettings settings;
    settings.maxStarts = manyStarts;
    rig.addWorkers(2, settings);
    pass(isSmall ? 1'500 : 10'000);
    change.stop();
    rig.proxy().setMode(RedisProxy::Mode::Pass);
    return rig.judge(u"%1 times answers were cut"_s.arg(cuts), {.repeatsMayDouble = false});
}

} // namespace tidekeeper::faults
