// SPDX-License-Identifier: Apache-2.0
#include "rounds.h"

#include <QtCore/QElapsedTimer>
#include <QtCore/QTextStream>

using namespace Qt::StringLiterals;

namespace tidekeeper::faults {

int runRounds(const Options &options, const QList<Case> &cases)
{
    QTextStream out(stdout);
    unsigned seed = options.seed;
    int failed = 0, ran = 0;
    QElapsedTimer total;
    total.start();
    do {
        for (const Case &one : cases) {
            if (!options.wants(one.name))
                continue;
            QElapsedTimer timer;
            timer.start();
            const Verdict verdict = one.run(seed, options.isSmall);
            out << QString::asprintf("%-24s seed %-11u %6.1f s  ", qPrintable(one.name), seed,
                                     double(timer.elapsed()) / 1000)
                << verdict.figures << ": "
                << (verdict.faults.isEmpty() ? u"ok"_s : u"FAILED: "_s + verdict.faults.join(u"; "_s)) << '\n'
                << Qt::flush;
            failed += !verdict.faults.isEmpty();
            ++ran;
            ++seed;
        }
    } while (ran > 0 && total.elapsed() < qint64(options.minutes * 60'000));
    out << ran - failed << " of " << ran << " passed\n";
    return failed == 0 && ran > 0 ? 0 : 1;
}

} // namespace tidekeeper::faults
