// SPDX-License-Identifier: Apache-2.0
#include "oauth/sealing.h"

#include "oauth/sealingidentity.h"
#include "oauth/sealingkey.h"

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
                    u"A stored secret was sealed with the key %1, this engine has %2. Set sealing_key_file "
                    u"to the key "
                    u"file that belongs to this database."_s.arg(keyId, this->keyId()));
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

namespace {

tl::unexpected<Error> wrongKey(const QString &expectedKeyId, const QString &keyFile, const QString &keyId)
{
    return fail(
        u"sealing_key_mismatch"_s,
        u"The grants in this database were sealed with another key (%1) than that of %2 (%3). Set "
        "sealing_key_file to the key file that belongs to this database: all engines of one database use "
        "the same key."_s.arg(expectedKeyId, keyFile, keyId),
        {{u"expected_key_id"_s, expectedKeyId}, {u"key_id"_s, keyId}});
}

tl::unexpected<Error> lostKey(const QString &expectedKeyId, const QString &keyFile)
{
    return fail(
        u"sealing_key_missing"_s,
        u"The sealing key file %1 does not exist, and this database has been used with the key %2. Set "
        "sealing_key_file to a copy of that key's file: all engines of one database use the same key."_s.arg(
            keyFile, expectedKeyId));
}

tl::unexpected<Error> unfinishedChange(const SealingIdentity &identity)
{
    return fail(
        u"sealing_change_unfinished"_s,
        u"The change of the sealing key from %1 to %2 was cut short. Run it again, it goes on where it "
        "stopped: tidekeeperd --reseal-with FILE, with sealing_key_file still naming the old key."_s.arg(
            identity.fingerprint.left(16), identity.next.left(16)));
}

} // namespace

QCoro::Task<Result<std::shared_ptr<const Sealing>>>
Sealing::open(QString keyFile, store::SettingsStore &settings, qint64 nowMs)
{
    Result<SealingIdentity> identity = co_await readSealingIdentity(settings);
    if (!identity)
        co_return fail(identity.error());
    const bool isKnown = !identity->fingerprint.isEmpty();
    if (!identity->next.isEmpty())
        co_return unfinishedChange(*identity);
    // A lost key is not replaced in silence: the tokens of this database would be lost with it.
    const bool isThere = QFileInfo::exists(keyFile);
    if (isKnown && !isThere)
        co_return lostKey(identity->fingerprint.left(16), keyFile);
    Result<QByteArray> key = isThere ? readSealingKey(keyFile) : makeSealingKey(keyFile);
    if (!key)
        co_return fail(key.error());
    auto sealing = std::make_shared<const Sealing>(*key);
    cleanse(*key);
    if (!isKnown) {
        const SealingIdentity own{sealing->fingerprint(), {}};
        const Result<> saved = co_await replaceSealingIdentity(settings, *identity, own, nowMs);
        if (!saved && saved.error().code != "setting_changed"_L1)
            co_return fail(saved.error());
        // Two engines at their first start: the database belongs to the key of the quicker one.
        identity = co_await readSealingIdentity(settings);
        if (!identity)
            co_return fail(identity.error());
    }
    if (identity->fingerprint != sealing->fingerprint())
        co_return wrongKey(identity->fingerprint.left(16), keyFile, sealing->keyId());
    co_return sealing;
}

} // namespace tidekeeper::oauth
