// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pluginhost/pluginmetadata.h"

#include <optional>

namespace tidekeeper::pluginhost {

enum class PluginState : quint8 {
    Found, ///< metadata read, nothing decided yet
    Resolved, ///< may be loaded
    Loaded, ///< its code is in the process
    Initialized,
    Running,
    Stopping, ///< asked to stop; stays so when it never answers
    Stopped,
    Disabled, ///< by the configuration or by its own metadata
    Failed ///< see PluginFailure
};

enum class FailureReason : quint8 {
    WrongIid,
    BadMetadata,
    DuplicateId,
    SdkTooNew,
    QtIncompatible,
    MissingDependency, ///< a plugin or a service that it needs is not there
    DependencyFailed,
    Cycle,
    LoadError,
    MissingInterface,
    BadConfiguration,
    InitializeFailed,
    StartFailed, ///< start() reported a failure or threw
    StartTimeout
};

QString toString(PluginState state); ///< "found", "resolved", …
QString toString(FailureReason reason); ///< "wrong_iid", "bad_metadata", …

/// Why a plugin is not running, for programs and for people.
struct PluginFailure {
    FailureReason reason = FailureReason::LoadError;
    QString text; ///< what happened
    QString remedy; ///< what to do
};

/// What is known about one plugin file. Plain data, so that the decisions about it are pure functions.
struct PluginRecord {
    QString file; ///< canonical path
    PluginMetadata metadata;
    QVersionNumber qtVersion; ///< that it was built with
    bool enabled = true; ///< by the configuration, else by its metadata
    QJsonObject configuration; ///< its section, checked, defaults filled in
    PluginState state = PluginState::Found;
    std::optional<PluginFailure> failure; ///< set exactly when state is Failed
    QString note; ///< a sentence beside another state, for example of a stop without an answer
    qint64 lateAnswers = 0;

    /// The first failure stays.
    void fail(FailureReason reason, QString text, QString remedy);
};

/// Reads a file without running its code. Nothing for a library that is not ours; a plugin of ours with broken
/// metadata is a failed record, so that it can be shown.
std::optional<PluginRecord> readRecord(const QString &file);

} // namespace tidekeeper::pluginhost
