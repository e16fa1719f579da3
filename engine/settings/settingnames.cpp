// SPDX-License-Identifier: Apache-2.0
#include "settings/settingnames.h"

#include "core/account.h"

#include <QtCore/QUrl>

using namespace Qt::StringLiterals;

namespace tidekeeper::settings {

namespace {

QString encoded(const QString &name)
{
    return QString::fromLatin1(QUrl::toPercentEncoding(name, {}, "."));
}

} // namespace

const QString limiterPrefix = u"limiter."_s;

QString settingName(const QString &limiter)
{
    return limiterPrefix + encoded(limiter);
}

QString settingName(const QString &limiter, const OverrideName &name)
{
    return overridePrefix(limiter) + encoded(name.project) + u'.' + name.account;
}

QString overridePrefix(const QString &limiter)
{
    return settingName(limiter) + u".override."_s;
}

std::optional<OverrideName> overrideNameFrom(const QString &limiter, const QString &settingName)
{
    const QString prefix = overridePrefix(limiter);
    if (!settingName.startsWith(prefix))
        return std::nullopt;
    const QString rest = settingName.mid(prefix.size());
    const qsizetype dot = rest.indexOf(u'.');
    if (dot < 1 || dot == rest.size() - 1)
        return std::nullopt;
    const QString project = QUrl::fromPercentEncoding(rest.left(dot).toUtf8());
    return OverrideName{project, core::normalizedEmail(rest.mid(dot + 1))};
}

} // namespace tidekeeper::settings
