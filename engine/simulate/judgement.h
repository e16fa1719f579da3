// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/oautherror.h"
#include "renewal/evidence.h"
#include "simulate/google.h"

// What the engine makes of Google's answers: its own tables for the token endpoint and for Gmail.
namespace tidekeeper::simulate {

/// As the token endpoint's client hands it to core::tokenFailure().
core::TokenAnswer tokenAnswerOf(const HttpAnswer &answer);
/// As the watch-renewal plugin tells the engine.
QJsonObject watchOutcomeOf(const HttpAnswer &answer, qint64 nowMs);
/// As renewal::attempt().
renewal::Attempted attemptedOf(const Answers &answers, qint64 nowMs);

} // namespace tidekeeper::simulate
