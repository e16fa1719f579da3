// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "oauth/sealing.h"
#include "store/accountstore.h"

#include <QtCore/QMap>
#include <QtCore/QStringList>

namespace tidekeeper::http {

/// The projects that accounts may name, each with its clients. The name "default" is always good for both.
using KnownProjects = QMap<QString, QStringList>;

/// From the JSON of a PUT, PATCH or import line to a change for the store, with the refresh token sealed. Every fault
/// names its field; no text repeats a value, which may be an address or a token.
class AccountRequestReader {
public:
    AccountRequestReader(KnownProjects projects, const oauth::Sealing &sealing);

    /// The id of an account as a caller chose it; invalid_request.
    static Result<QString> checkedId(const QJsonValue &id);

    /// body may repeat the id. Failures: invalid_request, unknown_project, unknown_client; sealing_failed.
    Result<store::AccountChange> read(const QString &id, const QJsonObject &body) const;

private:
    Result<> checkProject(const QJsonObject &body) const;
    Result<store::GrantChange> readGrant(const QString &id, const QJsonObject &body) const;
    Result<store::GrantChange> readToken(const QString &id, const QString &field,
                                         const QJsonValue &value) const;
    Result<store::GrantChange> readGrantObject(const QString &id, const QJsonValue &value) const;

    KnownProjects m_projects;
    const oauth::Sealing &m_sealing;
};

} // namespace tidekeeper::http
