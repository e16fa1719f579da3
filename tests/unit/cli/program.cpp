// SPDX-License-Identifier: Apache-2.0
#include "program.h"

#include <QtCore/QJsonDocument>
#include <QtCore/QProcess>
#include <QtTest/QTest>

namespace tidekeeper::test {

using namespace Qt::StringLiterals;

QJsonObject Run::json() const
{
    return QJsonDocument::fromJson(out.toUtf8()).object();
}

bool Run::hasLine(const QString &line) const
{
    for (const QString &candidate : out.split(u'\n')) {
        if (candidate.simplified() == line)
            return true;
    }
    return false;
}

Run runProgram(const QStringList &arguments, const QByteArray &input, const QProcessEnvironment &extra)
{
    QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
    environment.insert(u"TIDEKEEPER_STATE_DIR"_s, u"/nonexistent"_s);
    environment.insert(u"TZ"_s, u"UTC"_s);
    environment.insert(extra);
    QProcess process;
    process.setProcessEnvironment(environment);
    process.start(QStringLiteral(TIDEKEEPER_BINARY_DIR) + u"/bin/tidekeeper"_s, arguments);
    process.write(input);
    process.closeWriteChannel();
    if (!QTest::qWaitFor([&] { return process.state() == QProcess::NotRunning; }, 40'000))
        process.kill();
    Run run;
    run.exitCode = process.exitStatus() == QProcess::NormalExit ? process.exitCode() : -1;
    run.out = QString::fromUtf8(process.readAllStandardOutput());
    run.err = QString::fromUtf8(process.readAllStandardError());
    return run;
}

} // namespace tidekeeper::test
