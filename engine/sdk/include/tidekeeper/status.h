// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QtCore/QJsonObject>
#include <QtCore/QString>

#include <utility>

namespace tidekeeper {

/// How an operation ended: a code for programs, a sentence for people.
/// Frozen: members are never added, removed or reordered. [any]
struct Status final {
    QString code; ///< stable lower_snake_case; empty means success
    QString text; ///< one plain sentence that says what happened and what to do
    QJsonObject details; ///< machine-readable extras, for example {"field": "window"}

    bool ok() const { return code.isEmpty(); }

    static Status success() { return {}; }
    static Status failure(QString code, QString text, QJsonObject details = {})
    {
        return {std::move(code), std::move(text), std::move(details)};
    }
};

} // namespace tidekeeper
