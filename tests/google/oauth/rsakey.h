// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QtCore/QByteArray>

#include <memory>
#include <optional>

struct evp_pkey_st; // OpenSSL's EVP_PKEY

namespace tidekeeper::googlesim {

/// An RSA key of a service account, or Google's own: public, or with its private half when it was generated here.
class RsaKey {
public:
    static std::optional<RsaKey> generate(); ///< 2048 bits
    static std::optional<RsaKey> fromPublicPem(const QByteArray &pem); ///< nothing unless an RSA public key
    static std::optional<RsaKey> fromPrivatePem(const QByteArray &pem);

    QByteArray publicPem() const;
    QByteArray privatePem() const; ///< PKCS#8, as in Google's key files
    QByteArray modulus() const; ///< big-endian, as in a JSON web key
    QByteArray exponent() const;

    bool verifyRs256(const QByteArray &text, const QByteArray &signature) const;
    QByteArray signRs256(const QByteArray &text) const;

private:
    explicit RsaKey(evp_pkey_st *key);

    std::shared_ptr<evp_pkey_st> m_key;
};

} // namespace tidekeeper::googlesim
