// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pluginhost/pluginmetadata.h"

#include <QtCore/QString>

#include <optional>

namespace tidekeeper::pluginhost {

enum class PluginState : quint8 {
    Found, ///< metadata read, nothing decided yet
    Resolved, ///< may be loaded
    Loaded, ///< its code is in the process
    Initialized, ///< has its services
    Running,
    Stopping, ///< asked to stop; stays so when it never answers
    Stopped,
    Disabled, ///< by configuration or by its own metadata
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
    StartFailed,
    StartTimeout
};

QString toString(PluginState state); ///< "found", "resolved", …
QString toString(FailureReason reason); ///< "wrong_iid", "bad_metadata", …

/// Why a plugin is not running, for programs and for people.
struct PluginFailure {
    FailureReason reason;
    QString text; ///< one sentence: what happened
    QString remedy; ///< one sentence: what to do

    bool operator==(const PluginFailure &) const = default;
};

/// What is known about one plugin file. Plain data, so that the resolver is a pure function.
struct PluginRecord {
    QString file; ///< canonical path
    PluginMetadata metadata;
    bool enabled = true; ///< by configuration, else by metadata
    QJsonObject configuration; ///< its section, checked, defaults filled in
    PluginState state = PluginState::Found;
    std::optional<PluginFailure> failure; ///< set exactly when Failed
    QString note; ///< a sentence beside a state that is not Failed, for example a stop without answer
    qint64 lateAnswers = 0;

    const QString &id() const { return metadata.id; }
    void fail(PluginFailure why);
};

} // namespace tidekeeper::pluginhost
