// SPDX-License-Identifier: Apache-2.0
#include "cli/localengine.h"

#include <QtCore/QDir>
#include <QtCore/QFile>

namespace tidekeeper::cli {

using namespace Qt::StringLiterals;

QStringList stateDirs()
{
    if (const QString dir = qEnvironmentVariable("TIDEKEEPER_STATE_DIR"); !dir.isEmpty())
        return {dir};
    QString home = qEnvironmentVariable("XDG_STATE_HOME");
    if (home.isEmpty())
        home = QDir::homePath() + u"/.local/state"_s;
    return {home + u"/tidekeeper"_s, u"/var/lib/tidekeeper"_s};
}

Result<LocalEngine> findLocalEngine(const QStringList &dirs)
{
    for (const QString &dir : dirs) {
        QFile endpoint(dir + u"/endpoint"_s);
        if (!endpoint.open(QIODevice::ReadOnly))
            continue;
        const QString url = QString::fromUtf8(endpoint.readLine(4096)).trimmed();
        if (!url.isEmpty())
            return LocalEngine{url, dir + u"/admin.token"_s};
    }
    return fail(
        u"unreachable"_s,
        u"No engine runs here: there is no file endpoint in %1. Start tidekeeperd, or name an engine with "
        "--url and --token-file."_s.arg(dirs.join(u" or "_s)));
}

Result<QByteArray> readToken(const QString &file)
{
    QFile token(file);
    if (!token.open(QIODevice::ReadOnly))
        return fail(u"token_file"_s,
                    u"The token file %1 cannot be read: %2."_s.arg(file, token.errorString()));
    const QByteArray text = token.readLine(4096).trimmed();
    if (text.isEmpty())
        return fail(u"token_file"_s, u"The token file %1 is empty."_s.arg(file));
    return text;
}

} // namespace tidekeeper::cli
