// SPDX-License-Identifier: Apache-2.0
#include "app/engine.h"
#include "app/exitcode.h"
#include "app/reseal.h"
#include "app/servicemanager.h"
#include "app/signals.h"
#include "log/log.h"

#include <QtCore/QCommandLineParser>
#include <QtCore/QCoreApplication>
#include <QtCore/QProcessEnvironment>
#include <QtCore/QTimer>

#include <cstdio>

using namespace Qt::StringLiterals;
using namespace tidekeeper;
using app::Engine;
using app::ExitCode;

namespace {

const QString help = uR"(Keeps Gmail watches alive and Gmail quota unbroken.

When it is ready it prints one line: "listening on http://HOST:PORT". SIGTERM and
SIGINT stop it within 15 s: running jobs finish or go back to the queue, uncounted.
A second one ends it at once; what was running is taken over at the next start.

Exit codes: 0 stopped in order, 1 failure, 2 wrong command line, 3 configuration,
4 state folder (not writable, or in use), 5 address or TLS, 6 Redis, 7 database,
8 sealing key, 9 cut short (second signal, or not stopped within 15 s).)"_s;

constexpr int stopBoundMs = 14'500;

struct Options {
    QString configFile;
    QString stateDir;
    QString listen;
    QStringList pluginPath;
    QString resealWith;
};

Options readOptions(const QCoreApplication &application)
{
    QCommandLineParser parser;
    parser.setApplicationDescription(help);
    parser.addHelpOption();
    parser.addVersionOption();
    parser.addOptions(
        {{u"config"_s, u"The configuration; without it, the defaults."_s, u"FILE"_s},
         {u"state-dir"_s, u"Where database, keys, tokens and the private Redis are kept."_s, u"DIR"_s,
          app::StateDir::defaultPath()},
         {u"listen"_s, u"Address of the API, over http.listen; port 0 picks a free one."_s, u"HOST:PORT"_s},
         {u"plugin-path"_s, u"Another folder with plugins, searched first; may be repeated."_s, u"DIR"_s},
         {u"reseal-with"_s,
          u"Does not serve: seals every stored secret anew with the key in FILE (made when it does not "
          u"exist) and "
          "ends. Stop all engines of the database first. Cut short, the same command goes on."_s,
          u"FILE"_s}});
    const bool understood = parser.parse(application.arguments());
    if (parser.isSet(u"help"_s))
        parser.showHelp(int(ExitCode::Ok));
    if (parser.isSet(u"version"_s))
        parser.showVersion();
    if (!understood) {
        std::fputs(qPrintable(u"tidekeeperd: %1 See --help.\n"_s.arg(parser.errorText())), stderr);
        std::exit(int(ExitCode::Usage));
    }
    if (!parser.positionalArguments().isEmpty()) {
        std::fputs(qPrintable(u"tidekeeperd: unexpected argument \"%1\"\n"_s.arg(
                       parser.positionalArguments().first())),
                   stderr);
        std::exit(int(ExitCode::Usage));
    }
    return {parser.value(u"config"_s), parser.value(u"state-dir"_s), parser.value(u"listen"_s),
            parser.values(u"plugin-path"_s), parser.value(u"reseal-with"_s)};
}

Result<config::Config> loadConfig(const Options &options)
{
    QMap<QString, QString> environment;
    const QProcessEnvironment system = QProcessEnvironment::systemEnvironment();
    for (const QString &name : system.keys())
        environment.insert(name, system.value(name));
    // The command line wins over both; it goes the same way, so that it is checked the same way.
    if (!options.listen.isEmpty())
        environment.insert(u"TIDEKEEPER_HTTP__LISTEN"_s, options.listen);
    Result<config::Config> config = config::Config::load(options.configFile, environment);
    if (config)
        config->pluginPath = options.pluginPath + config->pluginPath;
    return config;
}

int complain(const Error &error)
{
    std::fputs(qPrintable(u"tidekeeperd: "_s + error.text + u'\n'), stderr);
    return int(app::exitCodeFor(error.code));
}

QCoro::Task<> run(Engine &engine, app::ServiceManager &service)
{
    const Result<> started = co_await engine.start();
    if (engine.isStopping())
        co_return; // stop() ends the program
    if (!started) {
        co_await engine.stop();
        QCoreApplication::exit(complain(started.error()));
        co_return;
    }
    std::printf("listening on %s\n", qPrintable(engine.url()));
    std::fflush(stdout);
    service.ready(u"Listening on "_s + engine.url());
}

QCoro::Task<> reseal(QString keyFile, config::Config config, const app::StateDir &state)
{
    const Result<> done = co_await app::resealWith(std::move(keyFile), std::move(config), state);
    QCoreApplication::exit(done ? int(ExitCode::Ok) : complain(done.error()));
}

QCoro::Task<> stop(Engine &engine, app::ServiceManager &service)
{
    service.stopping();
    QTimer::singleShot(stopBoundMs, &engine, [] {
        log::error(u"engine"_s, u"Not everything stopped in time; the engine ends without it."_s);
        std::_Exit(int(ExitCode::CutShort));
    });
    co_await engine.stop();
    QCoreApplication::exit(int(ExitCode::Ok));
}

} // namespace

int main(int argc, char *argv[])
{
    // Qt's own event loop makes half of the system calls of GLib's for each answer of Redis.
    qputenv("QT_NO_GLIB", "1");
    QCoreApplication application(argc, argv);
    QCoreApplication::setApplicationName(u"tidekeeperd"_s);
    QCoreApplication::setApplicationVersion(QStringLiteral(TIDEKEEPER_VERSION));
    const Options options = readOptions(application);

    const Result<config::Config> config = loadConfig(options);
    if (!config)
        return complain(config.error());
    log::setUp(log::levelFrom(config->log.level),
               config->log.format == "json"_L1 ? log::Format::Json : log::Format::Text);
    Result<app::StateDir> state = app::StateDir::open(options.stateDir);
    if (!state)
        return complain(state.error());
    if (!options.resealWith.isEmpty()) {
        QMetaObject::invokeMethod(
            &application, [&] { reseal(options.resealWith, *config, *state); }, Qt::QueuedConnection);
        return QCoreApplication::exec();
    }
    app::Signals signals;
    app::ServiceManager service;

    Engine engine(*config, *std::move(state));
    QObject::connect(&signals, &app::Signals::stopRequested, &engine, [&] { stop(engine, service); });
    QObject::connect(&signals, &app::Signals::reloadRequested, &engine, [] {
        log::warning(u"engine"_s,
                     u"The configuration is read at the start: restart to apply what changed."_s);
    });
    // From the event loop: what ends the program there has no effect before it runs.
    QMetaObject::invokeMethod(
        &engine, [&] { run(engine, service); }, Qt::QueuedConnection);
    return QCoreApplication::exec();
}
