// SPDX-License-Identifier: Apache-2.0
#include "decide/settings.h"

#include "decide/watchrequest.h"

using namespace Qt::StringLiterals;
using tidekeeper::Status;

namespace watchrenewal {

namespace {

constexpr qint64 dayMs = 24LL * 3'600'000;

Settings presetOf(const QString &name)
{
    Settings settings;
    const bool conservative = name == "conservative"_L1;
    settings.windowMs = conservative ? dayMs : 6 * dayMs;
    settings.batchSize = conservative ? 50 : 500;
    settings.cron = conservative ? u"0 * * * *"_s : QString();
    return settings;
}

} // namespace

Status settingsFrom(const QJsonObject &section, Settings *settings)
{
    *settings = presetOf(section.value("preset"_L1).toString());
    settings->mode = section.value("mode"_L1).toString(settings->mode);
    settings->windowMs = section.value("window"_L1).toInteger(settings->windowMs);
    settings->batchSize = section.value("batch_size"_L1).toInt(settings->batchSize);
    settings->cron = section.value("cron"_L1).toString(settings->cron);
    settings->consumers = section.value("consumers"_L1).toInt(settings->consumers);
    settings->prefetch = section.value("prefetch"_L1).toInt(settings->prefetch);
    if (settings->windowMs >= lifetimeMs)
        return Status::failure(
            u"bad_configuration"_s,
            u"window has to be shorter than the 7 days that Gmail grants: write \"6d\" or less."_s,
            {{u"field"_s, u"window"_s}});
    return Status::success();
}

} // namespace watchrenewal
