// SPDX-License-Identifier: Apache-2.0
#include "demo/demo.h"

#include <CLI/CLI.hpp>
#include <QCoro/QCoroTask>
#include <QtCore/QCoreApplication>
#include <QtCore/QFile>

#include <cstdio>

using namespace tidekeeper;
using namespace Qt::StringLiterals;

namespace {

constexpr int exitGoalMissed = 1;
constexpr int exitUsage = 2;
constexpr int exitNoScene = 3;

void print(const QString &line)
{
    std::printf("%s\n", qUtf8Printable(line));
    std::fflush(stdout);
}

int show(const demo::Options &options)
{
    demo::Demo demonstration(options, &print);
    const auto outcome = QCoro::waitFor(demonstration.run());
    if (!outcome) {
        std::fprintf(stderr, "%s\n", qUtf8Printable(outcome.error().text));
        return exitNoScene;
    }
    print(QString());
    print(outcome->summary());
    return outcome->good() ? 0 : exitGoalMissed;
}

} // namespace

int main(int argc, char **argv)
{
    CLI::App app(
        "Three hundred accounts to renew and ten consumers on one of them, against an engine and a simulated "
        "Google.\nExit code 0 only when every watch was renewed, none lapsed and Google refused no call.");
    std::string engine;
    std::string tokenFile;
    std::string google;
    demo::Options options;
    app.add_option("--engine", engine, "URL of the engine")->required();
    app.add_option("--token-file", tokenFile, "file with the engine's admin token")->required();
    app.add_option("--sim", google, "URL of tidekeeper-google-sim")->required();
    app.add_option("--accounts", options.accounts)->check(CLI::Range(1, 100'000))->capture_default_str();
    app.add_option("--seconds", options.seconds, "how long the consumers work")
        ->check(CLI::Range(1, 86'400))
        ->capture_default_str();
    CLI11_PARSE(app, argc, argv);

    QCoreApplication application(argc, argv);
    QFile file(QString::fromStdString(tokenFile));
    if (!file.open(QIODevice::ReadOnly)) {
        std::fprintf(stderr, "--token-file: cannot read %s: %s.\n", tokenFile.c_str(),
                     qUtf8Printable(file.errorString()));
        return exitUsage;
    }
    options.engineToken = file.readAll().trimmed();
    options.engine = QString::fromStdString(engine);
    options.google = QString::fromStdString(google);
    return show(options);
}
