// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "http/accountrequest.h"
#include "protocol/accountview.h"

namespace tidekeeper::http {

/// The lines of an import that can be handed to the store, and what is wrong with the others.
struct ImportLines {
    QList<std::pair<QString, store::AccountChange>> rows;
    QList<int> lineOfRow; ///< from 1
    QList<protocol::ImportErrorView> errors;
};

constexpr int mostImportLines = 1000;

/// JSON lines, each the body of a PUT with its "id"; blank lines are skipped. Failure, with nothing to store:
/// invalid_request (no line at all, or more than mostImportLines).
Result<ImportLines> readImport(const QByteArray &body, const AccountRequestReader &reader);

/// The whole story: what was stored, and every error in the order of lines.
protocol::ImportView importView(const ImportLines &lines, const QList<Result<store::PutResult>> &stored);

} // namespace tidekeeper::http
