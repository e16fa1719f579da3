// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "demo/jsonclient.h"

#include <QtCore/QProcess>
#include <QtCore/QTemporaryDir>

#include <functional>
#include <memory>

namespace tidekeeper::test {

/// One program of the product as a real process, with its output in a file; killed with the object.
class Program {
public:
    Program(const QString &name, QStringList arguments, QString logFile);
    ~Program();

    /// The URL of its line "listening on …"; empty when it ends or says nothing for 20 s.
    QString waitListening();
    /// Its exit code; −1 when it is still there after ms or crashed.
    int waitFinished(int ms);
    bool isRunning() const { return m_process.state() != QProcess::NotRunning; }
    void terminate() { m_process.terminate(); }
    void kill();
    qint64 processId() const { return m_process.processId(); }
    QByteArray log() const;

private:
    QProcess m_process;
    QString m_logFile;
};

/// The engine, a simulated Google and a folder for both.
class Product {
public:
    bool startGoogle();
    /// extra: more lines of TOML. Without a Google it finds nobody there.
    bool startEngine(const QByteArray &extra = {});

    /// Makes accounts at Google, whose watches lapse in half an hour, and imports them.
    bool importAccounts(int count);

    demo::JsonAnswer engineGet(const QString &path);
    demo::JsonAnswer enginePost(const QString &path, const QJsonObject &body = {});
    demo::JsonAnswer googleGet(const QString &path);
    demo::JsonAnswer googlePost(const QString &path, const QJsonObject &body);
    QJsonObject googleTotals();

    /// Looks every 50 ms until condition holds; false after ms.
    static bool eventually(int ms, const std::function<bool()> &condition);

    QString stateDir() const { return folder.filePath(QStringLiteral("state")); }

    QTemporaryDir folder;
    std::unique_ptr<Program> google;
    std::unique_ptr<Program> engine;
    QString engineUrl;
    QString googleUrl;
    QStringList engineArguments; ///< more of them
    QByteArray adminToken;
    QByteArray importedLines; ///< what importAccounts() sent, tokens included

private:
    std::unique_ptr<demo::JsonClient> m_toEngine;
    std::unique_ptr<demo::JsonClient> m_toGoogle;
};

} // namespace tidekeeper::test
