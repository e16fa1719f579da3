// SPDX-License-Identifier: Apache-2.0
#include "google/quota/preset.h"

#include <QtCore/QHash>

namespace tidekeeper::googlesim {

using namespace Qt::StringLiterals;

namespace {

struct Cost {
    qint64 legacy;
    qint64 now;
};

// threads.untrash and labels.patch have no published new cost: the old one, and that of labels.update.
const QHash<QString, Cost> &costs()
{
    static const QHash<QString, Cost> table{
        {u"gmail.users.getProfile"_s, {1, 1}},
        {u"gmail.users.history.list"_s, {2, 2}},
        {u"gmail.users.watch"_s, {100, 100}},
        {u"gmail.users.stop"_s, {50, 50}},
        {u"gmail.users.messages.list"_s, {5, 5}},
        {u"gmail.users.messages.get"_s, {5, 20}},
        {u"gmail.users.messages.attachments.get"_s, {5, 20}},
        {u"gmail.users.messages.send"_s, {100, 100}},
        {u"gmail.users.messages.import"_s, {25, 25}},
        {u"gmail.users.messages.insert"_s, {25, 25}},
        {u"gmail.users.messages.modify"_s, {5, 5}},
        {u"gmail.users.messages.batchModify"_s, {50, 50}},
        {u"gmail.users.messages.batchDelete"_s, {50, 50}},
        {u"gmail.users.messages.delete"_s, {10, 10}},
        {u"gmail.users.messages.trash"_s, {5, 20}},
        {u"gmail.users.messages.untrash"_s, {5, 5}},
        {u"gmail.users.threads.list"_s, {10, 10}},
        {u"gmail.users.threads.get"_s, {10, 40}},
        {u"gmail.users.threads.modify"_s, {10, 10}},
        {u"gmail.users.threads.trash"_s, {10, 20}},
        {u"gmail.users.threads.untrash"_s, {10, 10}},
        {u"gmail.users.threads.delete"_s, {20, 20}},
        {u"gmail.users.drafts.create"_s, {10, 10}},
        {u"gmail.users.drafts.get"_s, {5, 20}},
        {u"gmail.users.drafts.list"_s, {5, 5}},
        {u"gmail.users.drafts.update"_s, {15, 15}},
        {u"gmail.users.drafts.delete"_s, {10, 10}},
        {u"gmail.users.drafts.send"_s, {100, 100}},
        {u"gmail.users.labels.get"_s, {1, 1}},
        {u"gmail.users.labels.list"_s, {1, 1}},
        {u"gmail.users.labels.create"_s, {5, 5}},
        {u"gmail.users.labels.delete"_s, {5, 5}},
        {u"gmail.users.labels.update"_s, {5, 5}},
        {u"gmail.users.labels.patch"_s, {5, 5}},
        {u"gmail.users.settings.getAutoForwarding"_s, {1, 1}},
        {u"gmail.users.settings.getImap"_s, {1, 1}},
        {u"gmail.users.settings.getPop"_s, {1, 1}},
        {u"gmail.users.settings.getVacation"_s, {1, 1}},
        {u"gmail.users.settings.updateAutoForwarding"_s, {5, 5}},
        {u"gmail.users.settings.updateImap"_s, {5, 5}},
        {u"gmail.users.settings.updatePop"_s, {100, 100}},
        {u"gmail.users.settings.updateVacation"_s, {5, 5}},
    };
    return table;
}

} // namespace

std::optional<Preset> presetFrom(const QString &name)
{
    if (name == u"gmail-2026"_s)
        return Preset::Gmail2026;
    if (name == u"gmail-legacy"_s)
        return Preset::GmailLegacy;
    return std::nullopt;
}

QString toString(Preset preset)
{
    return preset == Preset::Gmail2026 ? u"gmail-2026"_s : u"gmail-legacy"_s;
}

PublishedLimits publishedLimits(Preset preset)
{
    return {preset == Preset::Gmail2026 ? 6'000 : 15'000, 1'200'000};
}

std::optional<qint64> costOf(const QString &method, Preset preset)
{
    const auto found = costs().constFind(method);
    if (found == costs().constEnd())
        return std::nullopt;
    return preset == Preset::Gmail2026 ? found->now : found->legacy;
}

} // namespace tidekeeper::googlesim
