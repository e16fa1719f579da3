// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "google/faults/faults.h"

#include <functional>

namespace tidekeeper::googlesim {

/// One kind of fault that can be switched on by name.
struct Kind {
    using MakeAnswer =
        std::function<std::optional<Answer>(Fault &fault, const Subject &subject, World &world)>;

    QString name;
    Faults::Stage stage;
    QStringList methods; ///< when the fault names none
    MakeAnswer answer; ///< null for limits and delivery; nothing = the call passes after all
};

const std::vector<Kind> &kinds();
const Kind *findKind(const QString &name);

} // namespace tidekeeper::googlesim
