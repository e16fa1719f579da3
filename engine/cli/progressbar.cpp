// SPDX-License-Identifier: Apache-2.0
#include "cli/progressbar.h"

#include "cli/humanize.h"

#include <algorithm>
#include <cstdio>
#include <unistd.h>

using namespace Qt::StringLiterals;

namespace tidekeeper::cli {

ProgressBar::ProgressBar(qint64 total) : m_total(total), m_shown(::isatty(STDERR_FILENO) == 1)
{
    m_timer.start();
}

void ProgressBar::show(qint64 done, qint64 accounts) const
{
    const qint64 perSecond = accounts * 1000 / std::max<qint64>(1, m_timer.elapsed());
    show(done, u"%1 accounts, %2/s"_s.arg(number(accounts), number(perSecond)));
}

void ProgressBar::show(qint64 done, const QString &what) const
{
    if (!m_shown)
        return;
    QString text = what;
    if (m_total > 0 && done > 0) {
        constexpr int width = 30;
        const qint64 part = std::min(done, m_total);
        const int filled = int(width * part / m_total);
        const qint64 leftMs = m_timer.elapsed() * (m_total - part) / part;
        text = u"[%1%2] %3 %  %4, %5 left"_s.arg(QString(filled, u'#'), QString(width - filled, u' '))
                   .arg(100 * part / m_total, 3)
                   .arg(what, duration(leftMs));
    }
    std::fprintf(stderr, "\r\x1b[K%s", qPrintable(text));
}

void ProgressBar::clear() const
{
    if (m_shown)
        std::fprintf(stderr, "\r\x1b[K");
}

} // namespace tidekeeper::cli
