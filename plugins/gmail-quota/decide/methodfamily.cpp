// SPDX-License-Identifier: Apache-2.0
#include "methodfamily.h"

#include <algorithm>
#include <array>

using namespace Qt::StringLiterals;

namespace gmailquota {

namespace {

struct Row {
    QLatin1StringView method;
    QLatin1StringView family;
};

// "Mail sending" is named on Google's page "Resolve errors" of the Gmail API. "Forwarding rules" was answered to the
// creation of a filter that forwards, see googleapis/google-api-ruby-client#20544; whether a filter forwards cannot
// be told from the method, so all creations of filters count.
constexpr std::array rows = {
    Row{"gmail.users.drafts.send"_L1, "mail_sending"_L1},
    Row{"gmail.users.messages.send"_L1, "mail_sending"_L1},
    Row{"gmail.users.settings.filters.create"_L1, "forwarding_rules"_L1},
    Row{"gmail.users.settings.forwardingAddresses.create"_L1, "forwarding_rules"_L1},
    Row{"gmail.users.settings.forwardingAddresses.delete"_L1, "forwarding_rules"_L1},
    Row{"gmail.users.settings.forwardingAddresses.get"_L1, "forwarding_rules"_L1},
    Row{"gmail.users.settings.forwardingAddresses.list"_L1, "forwarding_rules"_L1},
    Row{"gmail.users.settings.updateAutoForwarding"_L1, "forwarding_rules"_L1},
};

} // namespace

QString familyNamed(const QString &suffix)
{
    const QString name = suffix.simplified().toLower().replace(u' ', u'_');
    const bool known =
        std::any_of(rows.begin(), rows.end(), [&](const Row &row) { return row.family == name; });
    return known ? name : QString();
}

QJsonObject methodFamilies()
{
    QJsonObject families;
    for (const Row &row : rows)
        families.insert(row.method, QString(row.family));
    return families;
}

} // namespace gmailquota
