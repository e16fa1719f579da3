// SPDX-License-Identifier: Apache-2.0
#include "google/oauth/rsakey.h"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>

namespace tidekeeper::googlesim {

namespace {

using Bio = std::unique_ptr<BIO, decltype(&BIO_free)>;
using DigestContext = std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)>;

Bio reader(const QByteArray &pem)
{
    return {BIO_new_mem_buf(pem.constData(), int(pem.size())), &BIO_free};
}

QByteArray written(const Bio &writer)
{
    char *text = nullptr;
    const long size = BIO_get_mem_data(writer.get(), &text);
    return {text, size};
}

const unsigned char *bytes(const QByteArray &array)
{
    return reinterpret_cast<const unsigned char *>(array.constData());
}

QByteArray numberOf(const EVP_PKEY *key, const char *name)
{
    BIGNUM *value = nullptr;
    EVP_PKEY_get_bn_param(key, name, &value);
    const std::unique_ptr<BIGNUM, decltype(&BN_free)> number(value, &BN_free);
    QByteArray bytes(BN_num_bytes(number.get()), Qt::Uninitialized);
    BN_bn2bin(number.get(), reinterpret_cast<unsigned char *>(bytes.data()));
    return bytes;
}

bool isRsa(const EVP_PKEY *key)
{
    return key && EVP_PKEY_get_base_id(key) == EVP_PKEY_RSA;
}

} // namespace

RsaKey::RsaKey(evp_pkey_st *key) : m_key(key, &EVP_PKEY_free) { }

std::optional<RsaKey> RsaKey::generate()
{
    EVP_PKEY *key = EVP_RSA_gen(2048);
    return key ? std::optional(RsaKey(key)) : std::nullopt;
}

std::optional<RsaKey> RsaKey::fromPublicPem(const QByteArray &pem)
{
    const RsaKey key(PEM_read_bio_PUBKEY(reader(pem).get(), nullptr, nullptr, nullptr));
    return isRsa(key.m_key.get()) ? std::optional(key) : std::nullopt;
}

std::optional<RsaKey> RsaKey::fromPrivatePem(const QByteArray &pem)
{
    const RsaKey key(PEM_read_bio_PrivateKey(reader(pem).get(), nullptr, nullptr, nullptr));
    return isRsa(key.m_key.get()) ? std::optional(key) : std::nullopt;
}

QByteArray RsaKey::publicPem() const
{
    const Bio writer(BIO_new(BIO_s_mem()), &BIO_free);
    PEM_write_bio_PUBKEY(writer.get(), m_key.get());
    return written(writer);
}

QByteArray RsaKey::privatePem() const
{
    const Bio writer(BIO_new(BIO_s_mem()), &BIO_free);
    PEM_write_bio_PrivateKey(writer.get(), m_key.get(), nullptr, nullptr, 0, nullptr, nullptr);
    return written(writer);
}

QByteArray RsaKey::modulus() const
{
    return numberOf(m_key.get(), OSSL_PKEY_PARAM_RSA_N);
}

QByteArray RsaKey::exponent() const
{
    return numberOf(m_key.get(), OSSL_PKEY_PARAM_RSA_E);
}

bool RsaKey::verifyRs256(const QByteArray &text, const QByteArray &signature) const
{
    const DigestContext context(EVP_MD_CTX_new(), &EVP_MD_CTX_free);
    return EVP_DigestVerifyInit(context.get(), nullptr, EVP_sha256(), nullptr, m_key.get()) == 1
        && EVP_DigestVerify(context.get(), bytes(signature), size_t(signature.size()), bytes(text),
                            size_t(text.size()))
        == 1;
}

QByteArray RsaKey::signRs256(const QByteArray &text) const
{
    const DigestContext context(EVP_MD_CTX_new(), &EVP_MD_CTX_free);
    QByteArray signature(EVP_PKEY_get_size(m_key.get()), Qt::Uninitialized);
    size_t size = size_t(signature.size());
    if (EVP_DigestSignInit(context.get(), nullptr, EVP_sha256(), nullptr, m_key.get()) != 1
        || EVP_DigestSign(context.get(), reinterpret_cast<unsigned char *>(signature.data()), &size,
                          bytes(text), size_t(text.size()))
            != 1)
        return {};
    signature.resize(qsizetype(size));
    return signature;
}

} // namespace tidekeeper::googlesim
