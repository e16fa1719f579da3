// SPDX-License-Identifier: Apache-2.0
#include "app/engineid.h"

#include <QtCore/QCryptographicHash>
#include <QtCore/QFile>
#include <QtCore/QSysInfo>
#include <QtCore/QUuid>

using namespace Qt::StringLiterals;

namespace tidekeeper::app {

namespace {

const QString fileName = u"engine-id"_s;
constexpr qsizetype hexDigits = 32;

} // namespace

Result<QString> engineId(const StateDir &state)
{
    QFile file(state.file(fileName));
    QByteArray seed;
    if (file.open(QIODevice::ReadOnly))
        seed = file.readAll().trimmed();
    if (seed.isEmpty()) {
        seed = QUuid::createUuid().toByteArray(QUuid::WithoutBraces);
        if (const Result<> written = state.writeFile(fileName, seed + '\n'); !written)
            return fail(written.error());
    }
    const QByteArray hash =
        QCryptographicHash::hash(seed + QSysInfo::machineUniqueId(), QCryptographicHash::Sha256);
    return QString::fromLatin1(hash.toHex().left(hexDigits));
}

} // namespace tidekeeper::app
