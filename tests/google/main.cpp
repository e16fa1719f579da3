// SPDX-License-Identifier: Apache-2.0
#include "google/httpfront.h"
#include "google/simulator.h"

#include <CLI/CLI.hpp>
#include <QtCore/QCoreApplication>
#include <QtCore/QUrl>

#include <csignal>
#include <cstdio>

using namespace tidekeeper::googlesim;
using namespace Qt::StringLiterals;

namespace {

constexpr int exitUsage = 2;
constexpr int exitCannotListen = 3;

struct Options {
    std::string listen = "127.0.0.1:8790";
    std::string preset = "gmail-2026";
    qint64 latencyMs = 20;
    quint64 seed = 1;
};

struct ListenAddress {
    QHostAddress host;
    quint16 port = 0;
};

std::optional<ListenAddress> listenAddress(const std::string &text)
{
    const QUrl url(u"http://"_s + QString::fromStdString(text));
    const QHostAddress host(url.host() == u"localhost"_s ? u"127.0.0.1"_s : url.host());
    if (host.isNull() || url.port() < 0)
        return std::nullopt;
    return ListenAddress{host, quint16(url.port())};
}

int complain(const QString &sentence, int code)
{
    std::fprintf(stderr, "%s\n", qUtf8Printable(sentence));
    return code;
}

int serve(const Options &options, int argc, char **argv)
{
    const auto address = listenAddress(options.listen);
    if (!address)
        return complain(u"--listen needs HOST:PORT, for example 127.0.0.1:0."_s, exitUsage);
    const auto preset = presetFrom(QString::fromStdString(options.preset));
    if (!preset)
        return complain(u"--preset must be gmail-2026 or gmail-legacy."_s, exitUsage);

    QCoreApplication application(argc, argv);
    Simulator simulator(SimClock::Mode::Running, options.seed);
    simulator.world.settings.preset = *preset;
    simulator.world.settings.latencyMs = options.latencyMs;
    HttpFront front([&simulator](const Call &call) { return simulator.handle(call); });
    if (const QString problem = front.listen(address->host, address->port); !problem.isEmpty())
        return complain(problem, exitCannotListen);
    simulator.tokens.setOwnUrl(front.url());
    std::printf("listening on %s\n", qUtf8Printable(front.url()));
    std::fflush(stdout);
    return QCoreApplication::exec();
}

} // namespace

int main(int argc, char **argv)
{
    CLI::App app("Google's token endpoint, Gmail and FCM for tests, with their limits, errors and whims.");
    Options options;
    app.add_option("--listen", options.listen, "HOST:PORT; port 0 takes any free one")->capture_default_str();
    app.add_option("--preset", options.preset, "limits and costs: gmail-2026 or gmail-legacy")
        ->capture_default_str();
    app.add_option("--latency-ms", options.latencyMs, "how long a Gmail call takes")
        ->check(CLI::Range(0, 600'000))
        ->capture_default_str();
    app.add_option("--seed", options.seed, "of the lots that faults draw")->capture_default_str();
    CLI11_PARSE(app, argc, argv);
    // Nothing has to be saved: the default action of SIGTERM and SIGINT is the right one.
    std::signal(SIGPIPE, SIG_IGN);
    return serve(options, argc, argv);
}
