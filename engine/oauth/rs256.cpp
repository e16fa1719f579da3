// SPDX-License-Identifier: Apache-2.0
#include "oauth/rs256.h"

#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <openssl/pem.h>

namespace tidekeeper::oauth {

namespace {

constexpr int fewestBits = 2048;
constexpr int mostBits = 8192; // a huge key would be a cheap way to keep the engine busy

template<auto function>
struct Free {
    template<typename T>
    void operator()(T *pointer) const
    {
        function(pointer);
    }
};
using Bio = std::unique_ptr<BIO, Free<BIO_free>>;
using Key = std::unique_ptr<EVP_PKEY, Free<EVP_PKEY_free>>;
using KeyContext = std::unique_ptr<EVP_PKEY_CTX, Free<EVP_PKEY_CTX_free>>;
using DigestContext = std::unique_ptr<EVP_MD_CTX, Free<EVP_MD_CTX_free>>;
using Number = std::unique_ptr<BIGNUM, Free<BN_free>>;
using ParamBuilder = std::unique_ptr<OSSL_PARAM_BLD, Free<OSSL_PARAM_BLD_free>>;
using Params = std::unique_ptr<OSSL_PARAM, Free<OSSL_PARAM_free>>;

const unsigned char *bytes(const QByteArray &array)
{
    return reinterpret_cast<const unsigned char *>(array.constData());
}

Number numberFrom(const QByteArray &bigEndian)
{
    return Number(BN_bin2bn(bytes(bigEndian), static_cast<int>(bigEndian.size()), nullptr));
}

} // namespace

RsaPublicKey::RsaPublicKey(evp_pkey_st *key) : m_key(key, &EVP_PKEY_free) { }

std::optional<RsaPublicKey> RsaPublicKey::fromNumbers(const QByteArray &modulus, const QByteArray &exponent)
{
    if (modulus.isEmpty() || modulus.size() > mostBits / 8 || exponent.isEmpty() || exponent.size() > 8)
        return std::nullopt;
    const Number n = numberFrom(modulus);
    const Number e = numberFrom(exponent);
    const ParamBuilder builder(OSSL_PARAM_BLD_new());
    if (!n || !e || BN_num_bits(n.get()) < fewestBits
        || OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_N, n.get()) != 1
        || OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_E, e.get()) != 1)
        return std::nullopt;
    const Params params(OSSL_PARAM_BLD_to_param(builder.get()));
    const KeyContext context(EVP_PKEY_CTX_new_from_name(nullptr, "RSA", nullptr));
    EVP_PKEY *key = nullptr;
    if (!params || EVP_PKEY_fromdata_init(context.get()) != 1
        || EVP_PKEY_fromdata(context.get(), &key, EVP_PKEY_PUBLIC_KEY, params.get()) != 1)
        return std::nullopt;
    return RsaPublicKey(key);
}

bool RsaPublicKey::verifies(const QByteArray &text, const QByteArray &signature) const
{
    const DigestContext context(EVP_MD_CTX_new());
    return EVP_DigestVerifyInit(context.get(), nullptr, EVP_sha256(), nullptr, m_key.get()) == 1
        && EVP_DigestVerify(context.get(), bytes(signature), static_cast<size_t>(signature.size()),
                            bytes(text), static_cast<size_t>(text.size()))
        == 1;
}

std::optional<QByteArray> signedRs256(const QByteArray &text, const QByteArray &privateKeyPem)
{
    const Bio bio(BIO_new_mem_buf(privateKeyPem.constData(), static_cast<int>(privateKeyPem.size())));
    const Key key(PEM_read_bio_PrivateKey(bio.get(), nullptr, nullptr, nullptr));
    if (!key || EVP_PKEY_get_base_id(key.get()) != EVP_PKEY_RSA)
        return std::nullopt;
    const DigestContext context(EVP_MD_CTX_new());
    QByteArray signature(EVP_PKEY_get_size(key.get()), Qt::Uninitialized);
    auto length = static_cast<size_t>(signature.size());
    if (EVP_DigestSignInit(context.get(), nullptr, EVP_sha256(), nullptr, key.get()) != 1
        || EVP_DigestSign(context.get(), reinterpret_cast<unsigned char *>(signature.data()), &length,
                          bytes(text), static_cast<size_t>(text.size()))
            != 1)
        return std::nullopt;
    signature.truncate(static_cast<qsizetype>(length));
    return signature;
}

} // namespace tidekeeper::oauth
