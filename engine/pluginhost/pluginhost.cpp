// SPDX-License-Identifier: Apache-2.0
#include "pluginhost/pluginhost.h"

#include "pluginhost/interfacecheck.h"
#include "pluginhost/pluginfile.h"
#include "pluginhost/sdkversion.h"
#include "pluginhost/sectioncheck.h"

#include <QCoro/QCoroSignal>
#include <QtCore/QDeadlineTimer>

using namespace Qt::StringLiterals;

namespace tidekeeper::pluginhost {

namespace {

/// plugin.initialize(host); an exception becomes a failure.
Status initialized(Plugin &plugin, Host *host)
{
    try {
        return plugin.initialize(host);
    } catch (const std::exception &exception) {
        return Status::failure(u"plugin_exception"_s,
                               u"It threw an exception: %1."_s.arg(QString::fromUtf8(exception.what())));
    } catch (...) {
        return Status::failure(u"plugin_exception"_s, u"It threw an exception."_s);
    }
}

} // namespace

PluginHost::PluginHost(const ServiceRegistry &services, HostOptions options, LogFunction log, QObject *parent)
    : QObject(parent), m_services(services), m_options(std::move(options)), m_log(std::move(log))
{ }

PluginHost::~PluginHost()
{
    for (const Entry &entry : m_entries) {
        if (entry.host)
            entry.host->detach();
    }
}

QCoro::Task<> PluginHost::start()
{
    if (m_stop.stop_requested())
        co_return;
    m_isStarting = true;
    find();
    for (const auto &wave : m_waves) {
        for (const std::size_t index : wave)
            load(m_entries[index]);
    }
    for (const auto &wave : m_waves) {
        for (const std::size_t index : wave)
            initialize(m_entries[index]);
    }
    for (const auto &wave : m_waves) {
        if (!m_stop.stop_requested())
            co_await startWave(wave);
    }
    m_isStarting = false;
    Q_EMIT startEnded();
}

QCoro::Task<> PluginHost::stop()
{
    m_stop.request_stop();
    if (m_isStarting)
        co_await qCoro(this, &PluginHost::startEnded);

    const QDeadlineTimer all(m_options.stopAllDeadlineMs);
    for (auto wave = m_waves.rbegin(); wave != m_waves.rend(); ++wave) {
        std::vector<QCoro::Task<>> stopping;
        for (const std::size_t index : *wave) {
            const auto left = static_cast<int>(all.remainingTime());
            stopping.push_back(stopOne(index, std::min(m_options.stopDeadlineMs, left)));
        }
        for (QCoro::Task<> &task : stopping)
            co_await task;
    }
}

std::vector<PluginRecord> PluginHost::records() const
{
    std::vector<PluginRecord> records;
    records.reserve(m_entries.size());
    for (const Entry &entry : m_entries) {
        records.push_back(entry.record);
        records.back().lateAnswers = entry.lateAnswers->load();
    }
    return records;
}

/// Everything that is decided before any code of a plugin runs.
void PluginHost::find()
{
    std::vector<PluginRecord> records = findPlugins(m_options.searchPath, m_options.sections);
    for (const Error &unknown : unknownSections(records, m_options.sections))
        m_log(2, {}, unknown.text);
    m_waves = resolve(records, {sdkVersion(), m_services.iids()});
    for (PluginRecord &record : records) {
        m_entries.push_back({.record = std::move(record)});
        if (m_entries.back().record.failure)
            failed(m_entries.back());
        else
            enter(m_entries.back(), m_entries.back().record.state);
    }
}

void PluginHost::load(Entry &entry)
{
    if (!mayGoOn(entry))
        return;
    const Result<QObject *> root = loadRootObject(entry.record.file);
    if (root) {
        entry.root = *root;
        entry.plugin = qobject_cast<Plugin *>(entry.root);
        checkInterfaces(entry.record, *entry.root);
    } else {
        entry.record.fail(FailureReason::LoadError, u"It cannot be loaded: "_s + root.error().text,
                          u"Install what it is linked with, or build it again on this system."_s);
    }
    if (entry.record.failure)
        failed(entry);
    else
        enter(entry, PluginState::Loaded);
}

void PluginHost::initialize(Entry &entry)
{
    if (!mayGoOn(entry))
        return;
    entry.host = new HostServices(entry.record, m_services, m_options.projects, m_log, entry.root);
    const Status status = initialized(*entry.plugin, entry.host);
    if (status.ok()) {
        enter(entry, PluginState::Initialized);
        return;
    }
    entry.record.fail(FailureReason::InitializeFailed,
                      u"Its initialize() reported %1: %2"_s.arg(status.code, status.text),
                      u"Do what the plugin says, then restart the engine."_s);
    failed(entry);
}

/// The plugins of one wave start side by side, so that a slow one holds up only those that need it.
QCoro::Task<> PluginHost::startWave(std::vector<std::size_t> wave)
{
    std::vector<QCoro::Task<>> starting;
    for (const std::size_t index : wave) {
        if (mayGoOn(m_entries[index]))
            starting.push_back(startOne(index));
    }
    for (QCoro::Task<> &task : starting)
        co_await task;
}

QCoro::Task<> PluginHost::startOne(std::size_t index)
{
    Entry &entry = m_entries[index]; // m_entries does not change after find()
    if (m_options.beforeStart) {
        QCoro::Task<> preparing = m_options.beforeStart({entry.record, entry.root, entry.lateAnswers});
        co_await preparing;
    }
    if (m_stop.stop_requested())
        co_return;
    entry.mustStop = true;
    QCoro::Task<Result<QJsonObject>> starting =
        call(m_options.startDeadlineMs, [plugin = entry.plugin](Reply *reply) { plugin->start(reply); },
             {entry.lateAnswers, m_stop.get_token()});
    const Result<QJsonObject> started = co_await starting;
    if (started) {
        enter(entry, PluginState::Running);
        co_return;
    }
    const Error &error = started.error();
    entry.mustStop = isUnanswered(error);
    if (isUnanswered(error) && error.code == "stopping"_L1)
        co_return; // stop() sees to it
    if (isUnanswered(error) && error.code == "timeout"_L1) {
        entry.record.fail(FailureReason::StartTimeout,
                          u"Its start() did not answer within %1 ms."_s.arg(m_options.startDeadlineMs),
                          u"Look into its log lines for what it waits for, then restart the engine."_s);
    } else {
        entry.record.fail(FailureReason::StartFailed,
                          u"Its start() reported %1: %2"_s.arg(error.code, error.text),
                          u"Do what the plugin says, then restart the engine."_s);
    }
    failed(entry);
}

QCoro::Task<> PluginHost::stopOne(std::size_t index, int deadlineMs)
{
    Entry &entry = m_entries[index];
    if (!entry.mustStop)
        co_return;
    entry.mustStop = false;
    const bool hasFailed = entry.record.failure.has_value(); // stays failed: that is the worse news
    if (!hasFailed)
        enter(entry, PluginState::Stopping);
    QCoro::Task<Result<QJsonObject>> stopping = call(
        deadlineMs, [plugin = entry.plugin](Reply *reply) { plugin->stop(reply); }, {entry.lateAnswers, {}});
    const Result<QJsonObject> stopped = co_await stopping;
    if (!stopped) {
        entry.record.note = u"Its stop() did not end well: "_s + stopped.error().text;
        m_log(2, entry.record.metadata.id, entry.record.note);
    }
    if (!hasFailed && (stopped || !isUnanswered(stopped.error())))
        enter(entry, PluginState::Stopped);
}

/// False for a plugin that is out of the race, also because one that it needs has failed meanwhile.
bool PluginHost::mayGoOn(Entry &entry)
{
    if (entry.record.failure)
        return false;
    for (const PluginDependency &dependency : entry.record.metadata.dependencies) {
        for (const Entry &other : m_entries) {
            const bool isMeant = other.record.metadata.id == dependency.id && other.record.failure
                && other.record.failure->reason != FailureReason::DuplicateId;
            if (!isMeant)
                continue;
            failAfter(entry.record, other.record);
            failed(entry);
            return false;
        }
    }
    return true;
}

void PluginHost::enter(Entry &entry, PluginState state)
{
    entry.record.state = state;
    m_log(state == PluginState::Running ? 1 : 0, entry.record.metadata.id,
          u"Plugin %1 %2: %3."_s.arg(entry.record.metadata.id, entry.record.metadata.version.toString(),
                                     toString(state)));
    Q_EMIT stateChanged(entry.record.metadata.id);
}

void PluginHost::failed(Entry &entry)
{
    const PluginFailure &failure = *entry.record.failure;
    m_log(3, entry.record.metadata.id,
          u"Plugin %1 is not running (%2, %3): %4 %5"_s.arg(entry.record.metadata.id,
                                                            toString(failure.reason), entry.record.file,
                                                            failure.text, failure.remedy));
    Q_EMIT stateChanged(entry.record.metadata.id);
}

} // namespace tidekeeper::pluginhost
