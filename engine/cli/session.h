// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/result.h"

#include <CLI/CLI.hpp>
#include <QtCore/QJsonObject>
#include <QtCore/QUrlQuery>

#include <memory>
#include <string>

namespace tidekeeper::cli {

class ApiClient;

enum class ExitCode : quint8 {
    Ok = 0,
    Refused = 1, ///< the engine, or the check asked for, said no
    Usage = 2, ///< the command line is wrong
    Unreachable = 3, ///< no engine answered
    Attention = 4 ///< the engine answered, and something is wrong with it
};

/// What every verb shares: where the engine is, how to print, how it ended.
class Session {
public:
    Session();
    ~Session();

    std::string url;
    std::string tokenFile;
    std::string caFile;
    bool json = false;

    Result<QJsonObject> get(const QString &path, const QUrlQuery &query = {});
    Result<QJsonObject> send(const QByteArray &method, const QString &path, const QJsonObject &body = {},
                             const QUrlQuery &query = {});
    Result<QJsonObject> sendLines(const QString &path, const QByteArray &lines,
                                  const QUrlQuery &query = {}); ///< application/x-ndjson

    void print(const QString &text); ///< standard output
    void print(const QJsonObject &object); ///< one line of JSON
    void complain(const QString &text); ///< standard error, one line

    /// Makes `command` run `verb`, whose result decides the exit code.
    void onCalled(CLI::App *command, std::function<Result<ExitCode>()> verb);
    ExitCode exitCode() const { return m_exitCode; }

private:
    Result<ApiClient *> client();
    void finish(const Result<ExitCode> &result);

    std::unique_ptr<ApiClient> m_client;
    ExitCode m_exitCode = ExitCode::Ok;
};

/// A segment of a path.
QString segment(const std::string &text);
inline QString text(const std::string &utf8)
{
    return QString::fromStdString(utf8);
}

} // namespace tidekeeper::cli
