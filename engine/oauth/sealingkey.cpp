// SPDX-License-Identifier: Apache-2.0
#include "oauth/sealingkey.h"

#include "oauth/sealing.h"

#include <QtCore/QFile>
#include <QtCore/QSaveFile>

#include <openssl/rand.h>

#include <algorithm>

using namespace Qt::StringLiterals;

namespace tidekeeper::oauth {

namespace {

constexpr qint64 mostFileBytes = 1024;

constexpr QFileDevice::Permissions ofOthers =
    QFileDevice::ReadGroup | QFileDevice::WriteGroup | QFileDevice::ReadOther | QFileDevice::WriteOther;

bool isHexDigit(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

} // namespace

Result<QByteArray> readSealingKey(const QString &file)
{
    QFile in(file);
    if (!in.open(QIODevice::ReadOnly | QIODevice::Unbuffered)) {
        return fail(
            u"sealing_key_missing"_s,
            u"The sealing key file %1 cannot be read: %2. Put back the file, or the backup of it, that this "
            u"engine's database was used with."_s.arg(file, in.errorString()));
    }
    if (in.permissions() & ofOthers) {
        return fail(
            u"sealing_key_exposed"_s,
            u"The sealing key file %1 can be read or written by other users. Run: chmod 600 %1"_s.arg(file));
    }
    QByteArray text = in.read(mostFileBytes);
    while (!text.isEmpty() && (text.back() == '\n' || text.back() == '\r' || text.back() == ' '))
        text.chop(1);
    const bool good =
        text.size() == 2 * Sealing::keyBytes && std::all_of(text.cbegin(), text.cend(), isHexDigit);
    QByteArray key = good ? QByteArray::fromHex(text) : QByteArray();
    cleanse(text);
    if (!good) {
        return fail(
            u"sealing_key_invalid"_s,
            u"The sealing key file %1 does not hold a key: it must be 64 hexadecimal digits. Put back the "
            u"file that this engine's database was used with."_s.arg(file));
    }
    return key;
}

Result<QByteArray> makeSealingKey(const QString &file)
{
    QByteArray key(Sealing::keyBytes, Qt::Uninitialized);
    const bool random = RAND_bytes(reinterpret_cast<unsigned char *>(key.data()), Sealing::keyBytes) == 1;
    QByteArray text = key.toHex() + '\n';
    QSaveFile out(file); // renamed into place after it was synced, so a crash leaves no half of a key
    const bool written = random && out.open(QIODevice::WriteOnly)
        && out.setPermissions(QFileDevice::ReadOwner | QFileDevice::WriteOwner)
        && out.write(text) == text.size() && out.commit();
    cleanse(text);
    if (!written) {
        cleanse(key);
        return fail(
            u"sealing_key_unwritable"_s,
            u"The sealing key file %1 cannot be made: %2. Check that its folder exists and that the engine "
            u"may write there."_s.arg(file, random ? out.errorString() : u"no random numbers"_s));
    }
    return key;
}

} // namespace tidekeeper::oauth
