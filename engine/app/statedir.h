// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/result.h"

#include <QtCore/QString>

namespace tidekeeper::app {

/// The folder where one engine keeps its database, keys, tokens and private Redis: 0700 and locked for as long as
/// the process lives. [main]
class StateDir {
public:
    /// $TIDEKEEPER_STATE_DIR, else $STATE_DIRECTORY (systemd), else $XDG_STATE_HOME/tidekeeper, else
    /// ~/.local/state/tidekeeper.
    static QString defaultPath();

    /// Makes the folder and takes the lock. Failures: state_dir_unwritable, state_dir_locked (with the process that
    /// holds it).
    static Result<StateDir> open(const QString &path);

    StateDir(StateDir &&other) noexcept;
    StateDir &operator=(StateDir &&other) noexcept;
    ~StateDir();

    const QString &path() const { return m_path; }
    QString file(const QString &name) const;
    /// Writes a small file (0600) so that a reader sees the old or the new text, never half of it.
    Result<> writeFile(const QString &name, const QByteArray &text) const;
    void removeFile(const QString &name) const;

private:
    StateDir(QString path, int lockFd) : m_path(std::move(path)), m_lockFd(lockFd) { }

    QString m_path;
    int m_lockFd = -1;
};

} // namespace tidekeeper::app
