// SPDX-License-Identifier: Apache-2.0
#include "judge.h"

#include <QtCore/QJsonArray>

using namespace Qt::StringLiterals;

namespace tidekeeper::faults {

namespace {

constexpr qint64 halfDayMs = virtualDayMs / 2;

struct Books {
    int accounts = 0;
    qint64 watches = 0;
    QStringList lapsed; ///< ids, the first few
    QStringList dead; ///< no live watch at the end
    QStringList tooOften; ///< too many watches within half a day
    int lapsedCount = 0, deadCount = 0, tooOftenCount = 0;
};

void note(QStringList &list, int &count, const QString &id)
{
    if (count++ < 3)
        list.append(id);
}

bool watchedTooOften(const QJsonArray &watches, int most)
{
    for (qsizetype i = most; i < watches.size(); ++i) {
        if (watches[i]["set_at"_L1].toInteger() - watches[i - most]["set_at"_L1].toInteger() < halfDayMs)
            return true;
    }
    return false;
}

/// All accounts that the engine knows, a page at a time, with what the simulator says of each.
QString read(Fleet &fleet, int mostWatches, Books &books, int &withoutGrant)
{
    QString cursor;
    do {
        const demo::JsonAnswer page = fleet.engine(u"/api/v1/accounts?sort=id&limit=200&cursor="_s + cursor);
        if (!page.good())
            return u"the list of accounts: "_s + page.sentence();
        QString query;
        for (const QJsonValue &account : page.body["accounts"_L1].toArray()) {
            query += u"&account="_s + account["email"_L1].toString();
            withoutGrant += !account["has_refresh_token"_L1].toBool();
        }
        const demo::JsonAnswer truth = fleet.google(u"/sim/state?"_s + query.mid(1));
        if (!truth.good())
            return u"the simulator's books: "_s + truth.sentence();
        for (const QJsonValue &account : truth.body["accounts"_L1].toArray()) {
            const QString email = account["email"_L1].toString();
            const QJsonArray watches = account["watches"_L1].toArray();
            ++books.accounts;
            books.watches += watches.size();
            if (account["lapses"_L1].toInt() > 0)
                note(books.lapsed, books.lapsedCount, email);
            if (account["watch_expires_at"_L1].toInteger() <= fleet.calendar().nowMs())
                note(books.dead, books.deadCount, email);
            if (watchedTooOften(watches, mostWatches))
                note(books.tooOften, books.tooOftenCount, email);
        }
        cursor = page.body["next_cursor"_L1].toString();
    } while (!cursor.isEmpty());
    return {};
}

} // namespace

Verdict judge(Fleet &fleet, int mostWatches)
{
    Books books;
    int withoutGrant = 0;
    Verdict verdict;
    if (const QString problem = read(fleet, mostWatches, books, withoutGrant); !problem.isEmpty())
        verdict.faults.append(problem);
    const QJsonObject states =
        fleet.engine(u"/api/v1/accounts?limit=1"_s).body["facets"_L1]["state"_L1].toObject();
    const qint64 active = states["active"_L1].toInteger();
    const double days = double(fleet.calendar().elapsedMs()) / virtualDayMs;
    verdict.figures =
        u"%1 accounts, %2 days, %3 watches (%4 per account and day), %5 lapsed, %6 grants lost"_s
            .arg(books.accounts)
            .arg(days, 0, 'f', 1)
            .arg(books.watches)
            .arg(double(books.watches) / std::max(1, books.accounts) / days, 0, 'f', 2)
            .arg(books.lapsedCount)
            .arg(withoutGrant);
    const auto blame = [&verdict](int count, const QString &what, const QStringList &some = {}) {
        if (count > 0)
            verdict.faults.append(u"%1 %2 %3"_s.arg(count).arg(what, some.join(u", "_s)).trimmed());
    };
    blame(std::abs(fleet.scale().accounts - books.accounts), u"accounts too few or too many"_s);
    blame(books.lapsedCount, u"lapsed:"_s, books.lapsed);
    blame(books.deadCount, u"without a live watch at the end:"_s, books.dead);
    blame(books.tooOftenCount, u"watched more than %1 times within half a day:"_s.arg(mostWatches),
          books.tooOften);
    blame(withoutGrant, u"without their grant"_s);
    blame(int(books.accounts - active), u"not active any more"_s);
    return verdict;
}

} // namespace tidekeeper::faults
