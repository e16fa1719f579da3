// SPDX-License-Identifier: Apache-2.0
#include "oauth/sealing.h"

#include "oauth/sealingkey.h"
#include "store/settingsstore.h"

#include <QtCore/QFileInfo>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <algorithm>

using namespace Qt::StringLiterals;

namespace tidekeeper::oauth {

namespace {

constexpr char formatVersion = 1;
constexpr int nonceBytes = 12;
constexpr int tagBytes = 16;
constexpr int headBytes = 1 + nonceBytes;

const QString keySetting = u"sealing.key"_s;
const QString fingerprintField = u"fingerprint"_s;

struct FreeContext {
    void operator()(EVP_CIPHER_CTX *context) const { EVP_CIPHER_CTX_free(context); }
};
using Context = std::unique_ptr<EVP_CIPHER_CTX, FreeContext>;

const unsigned char *bytes(const QByteArray &array)
{
    return reinterpret_cast<const unsigned char *>(array.constData());
}

unsigned char *bytes(QByteArray &array)
{
    return reinterpret_cast<unsigned char *>(array.data());
}

// What is bound to the sealed value beside the account: its purpose and format.
QByteArray associatedData(const QString &accountId)
{
    return "tidekeeper refresh token 1:" + accountId.toUtf8();
}

tl::unexpected<Error> damaged()
{
    return fail(
        u"sealed_value_damaged"_s,
        u"A stored secret does not open: it was changed in the database or belongs to another account. "
        u"Restore the database, or send the refresh token again."_s);
}

} // namespace

Sealing::Sealing(const QByteArray &key)
{
    Q_ASSERT(key.size() == keyBytes);
    std::copy_n(bytes(key), keyBytes, m_key.begin());
    QByteArray digest(EVP_MAX_MD_SIZE, Qt::Uninitialized);
    unsigned int size = 0;
    EVP_Digest(m_key.data(), m_key.size(), bytes(digest), &size, EVP_sha256(), nullptr);
    m_fingerprint = QString::fromLatin1(digest.left(size).toHex());
}

Sealing::~Sealing()
{
    OPENSSL_cleanse(m_key.data(), m_key.size());
}

Result<QByteArray> Sealing::seal(const QByteArray &plain, const QString &accountId) const
{
    const QByteArray bound = associatedData(accountId);
    QByteArray sealed(headBytes + plain.size() + tagBytes, Qt::Uninitialized);
    sealed[0] = formatVersion;
    unsigned char *nonce = bytes(sealed) + 1;
    unsigned char *text = bytes(sealed) + headBytes;
    unsigned char *tag = text + plain.size();
    const Context context(EVP_CIPHER_CTX_new());
    int size = 0;
    const bool done = context && RAND_bytes(nonce, nonceBytes) == 1
        && EVP_EncryptInit_ex(context.get(), EVP_aes_256_gcm(), nullptr, m_key.data(), nonce) == 1
        && EVP_EncryptUpdate(context.get(), nullptr, &size, bytes(bound), static_cast<int>(bound.size())) == 1
        && EVP_EncryptUpdate(context.get(), text, &size, bytes(plain), static_cast<int>(plain.size())) == 1
        && EVP_EncryptFinal_ex(context.get(), text + size, &size) == 1
        && EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_GCM_GET_TAG, tagBytes, tag) == 1;
    if (!done)
        return fail(u"sealing_failed"_s,
                    u"The cryptographic library refused to seal a secret. Nothing was stored."_s);
    return sealed;
}

Result<QByteArray> Sealing::unseal(const QByteArray &sealed, const QString &keyId,
                                   const QString &accountId) const
{
    if (keyId != this->keyId()) {
        return fail(u"sealing_key_unknown"_s,
                    u"A stored secret was sealed with the key %1, this engine has %2. Start it with the key "
                    u"file that "
                    u"belongs to this database."_s.arg(keyId, this->keyId()));
    }
    const qsizetype size = sealed.size() - headBytes - tagBytes;
    if (size < 0 || sealed[0] != formatVersion)
        return damaged();
    const QByteArray bound = associatedData(accountId);
    QByteArray tag = sealed.right(tagBytes);
    QByteArray plain(size, Qt::Uninitialized);
    const Context context(EVP_CIPHER_CTX_new());
    int done = 0;
    const bool good = context
        && EVP_DecryptInit_ex(context.get(), EVP_aes_256_gcm(), nullptr, m_key.data(), bytes(sealed) + 1) == 1
        && EVP_DecryptUpdate(context.get(), nullptr, &done, bytes(bound), static_cast<int>(bound.size())) == 1
        && EVP_DecryptUpdate(context.get(), bytes(plain), &done, bytes(sealed) + headBytes,
                             static_cast<int>(size))
            == 1
        && EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_GCM_SET_TAG, tagBytes, bytes(tag)) == 1
        && EVP_DecryptFinal_ex(context.get(), bytes(plain) + done, &done) == 1;
    if (!good) {
        cleanse(plain); // deciphered, but not authentic
        return damaged();
    }
    return plain;
}

QString Sealing::valueFingerprint(const QByteArray &value) const
{
    const QByteArray labelled = "tidekeeper value fingerprint 1:" + value;
    QByteArray digest(EVP_MAX_MD_SIZE, Qt::Uninitialized);
    unsigned int size = 0;
    HMAC(EVP_sha256(), m_key.data(), keyBytes, bytes(labelled), static_cast<size_t>(labelled.size()),
         bytes(digest), &size);
    return QString::fromLatin1(digest.left(16).toHex());
}

void cleanse(QByteArray &secret)
{
    if (!secret.isEmpty())
        OPENSSL_cleanse(secret.data(), static_cast<size_t>(secret.size()));
    secret.clear();
}

QCoro::Task<Result<std::shared_ptr<const Sealing>>>
Sealing::open(QString keyFile, store::SettingsStore &settings, qint64 nowMs)
{
    auto known = co_await settings.all(keySetting);
    if (!known)
        co_return fail(known.error());
    const QString expected = known->value(keySetting)[fingerprintField].toString();
    // A lost key is not replaced in silence: the tokens of this database would be lost with it.
    const bool firstStart = expected.isEmpty() && !QFileInfo::exists(keyFile);
    Result<QByteArray> key = firstStart ? makeSealingKey(keyFile) : readSealingKey(keyFile);
    if (!key)
        co_return fail(key.error());
    auto sealing = std::make_shared<const Sealing>(*key);
    cleanse(*key);
    if (expected.isEmpty()) {
        const QJsonObject identity{{fingerprintField, sealing->fingerprint()}};
        auto saved = co_await settings.set(keySetting, identity, u"engine"_s, nowMs);
        if (!saved)
            co_return fail(saved.error());
    } else if (expected != sealing->fingerprint()) {
        co_return fail(
            u"sealing_key_mismatch"_s,
            u"The grants in this database were sealed with another key (%1) than that of %2 (%3). Start the "
            u"engine with the key file that belongs to this database."_s.arg(expected.left(16), keyFile,
                                                                             sealing->keyId()),
            {{u"expected_key_id"_s, expected.left(16)}, {u"key_id"_s, sealing->keyId()}});
    }
    co_return sealing;
}

} // namespace tidekeeper::oauth
