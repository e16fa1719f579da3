// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QtCore/QByteArray>

#include <memory>
#include <optional>

struct evp_pkey_st; // OpenSSL's EVP_PKEY

namespace tidekeeper::oauth {

/// Signatures of JSON web tokens as Google makes and takes them: RSASSA-PKCS1-v1_5 with SHA-256.
class RsaPublicKey {
public:
    /// Big-endian numbers, as in a JSON web key. Nothing unless an RSA key of 2048 to 8192 bits.
    static std::optional<RsaPublicKey> fromNumbers(const QByteArray &modulus, const QByteArray &exponent);

    bool verifies(const QByteArray &text, const QByteArray &signature) const;

private:
    explicit RsaPublicKey(evp_pkey_st *key);

    std::shared_ptr<evp_pkey_st> m_key;
};

/// Nothing unless the PEM text holds a private RSA key.
std::optional<QByteArray> signedRs256(const QByteArray &text, const QByteArray &privateKeyPem);

} // namespace tidekeeper::oauth
