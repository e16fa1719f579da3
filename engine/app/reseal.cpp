// SPDX-License-Identifier: Apache-2.0
#include "app/reseal.h"

#include "app/statefiles.h"
#include "oauth/keychange.h"
#include "oauth/sealingkey.h"

#include <QtCore/QDateTime>
#include <QtCore/QFileInfo>

#include <cstdio>
#include <unistd.h>

using namespace Qt::StringLiterals;

namespace tidekeeper::app {

namespace {

using SealingPointer = std::shared_ptr<const oauth::Sealing>;

Result<SealingPointer> sealingOf(Result<QByteArray> key)
{
    if (!key)
        return fail(key.error());
    auto sealing = std::make_shared<const oauth::Sealing>(*key);
    oauth::cleanse(*key);
    return sealing;
}

/// A bar for people; for a log, a line for each whole percent.
class ProgressLine {
public:
    void show(const oauth::KeyChange::Progress &progress)
    {
        const int percent = static_cast<int>(progress.done * 100 / std::max<qint64>(progress.total, 1));
        if (percent == m_percent)
            return;
        m_percent = percent;
        if (!m_isTerminal) {
            std::fprintf(stderr, "%3d %% of %lld secrets\n", percent, static_cast<long long>(progress.total));
            return;
        }
        const QByteArray bar = QByteArray(percent / 4, '#').leftJustified(25, '.');
        std::fprintf(stderr, "\r[%s] %3d %% of %lld secrets%s", bar.constData(), percent,
                     static_cast<long long>(progress.total), percent == 100 ? "\n" : "");
    }

private:
    const bool m_isTerminal = isatty(STDERR_FILENO) == 1;
    int m_percent = -1;
};

void sayWhatIsNext(const oauth::KeyChange::Progress &progress, const QString &newKeyFile,
                   const QString &keyId)
{
    std::printf(
        "%s",
        qPrintable(
            u"Sealed %1 secrets with the key %2.\n"_s.arg(progress.done - progress.unreadable).arg(keyId)));
    if (progress.unreadable > 0)
        std::printf("%s",
                    qPrintable(u"%1 did not open with the old key and stay as they are: their accounts need "
                               "their refresh tokens sent again.\n"_s.arg(progress.unreadable)));
    std::printf(
        "%s",
        qPrintable(u"Next: set sealing_key_file = \"%1\" for every engine of this database, then start "
                   "them. Keep the old key with old backups of the database.\n"_s.arg(newKeyFile)));
}

} // namespace

QCoro::Task<Result<>> resealWith(QString newKeyFile, config::Config config, const StateDir &state)
{
    const Result<SealingPointer> from = sealingOf(oauth::readSealingKey(sealingKeyFile(config, state)));
    if (!from)
        co_return fail(from.error());
    store::Database database(databaseUrl(config, state));
    const Result<> opened = co_await database.open();
    if (!opened)
        co_return opened;
    const Result<SealingPointer> to =
        sealingOf(QFileInfo::exists(newKeyFile) ? oauth::readSealingKey(newKeyFile)
                                                : oauth::makeSealingKey(newKeyFile));
    if (!to)
        co_return fail(to.error());

    store::SealedValues values(database);
    store::SettingsStore settings(database);
    oauth::KeyChange change(*from, *to, values, settings);
    ProgressLine line;
    const oauth::KeyChange::Report report = [&line](const auto &progress) { line.show(progress); };
    const Result<oauth::KeyChange::Progress> done =
        co_await change.run(QDateTime::currentMSecsSinceEpoch(), report);
    if (!done)
        co_return fail(done.error());
    sayWhatIsNext(*done, QFileInfo(newKeyFile).absoluteFilePath(), (*to)->keyId());
    co_return Result<>();
}

} // namespace tidekeeper::app
