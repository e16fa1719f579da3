// SPDX-License-Identifier: Apache-2.0
#include "pluginscene.h"

#include <QCoro/QCoroTask>
#include <QtCore/QFile>

using namespace Qt::StringLiterals;

namespace tidekeeper::test {

using namespace pluginhost;

PluginScene::PluginScene()
{
    services.add<Clock>(&clock);
    options.searchPath = {m_folder.path()};
    options.startDeadlineMs = 300;
    options.stopDeadlineMs = 300;
    options.stopAllDeadlineMs = 1'000;
}

QString PluginScene::put(const QString &name)
{
    const QString copy = m_folder.filePath(name + u".so"_s);
    QFile::copy(QStringLiteral(TIDEKEEPER_BINARY_DIR "/tests/fixtures/") + name + u".so"_s, copy);
    return copy;
}

void PluginScene::put(const QStringList &names)
{
    for (const QString &name : names)
        put(name);
}

void PluginScene::makeHost()
{
    m_host = std::make_unique<PluginHost>(services, options,
                                          [this](int level, const QString &id, const QString &text) {
                                              const std::lock_guard lock(m_mutex);
                                              if (level > 0)
                                                  m_log.append(id + u": "_s + text);
                                          });
}

void PluginScene::start()
{
    makeHost();
    QCoro::waitFor(m_host->start());
}

void PluginScene::stop()
{
    QCoro::waitFor(m_host->stop());
}

PluginRecord PluginScene::record(const QString &id) const
{
    for (const PluginRecord &record : m_host->records()) {
        if (record.metadata.id == id)
            return record;
    }
    return {};
}

QString PluginScene::state(const QString &id) const
{
    const PluginRecord found = record(id);
    if (found.file.isEmpty())
        return u"not there"_s;
    const QString reason = found.failure ? u": "_s + toString(found.failure->reason) : QString();
    return toString(found.state) + reason;
}

QStringList PluginScene::log() const
{
    const std::lock_guard lock(m_mutex);
    return m_log;
}

} // namespace tidekeeper::test
