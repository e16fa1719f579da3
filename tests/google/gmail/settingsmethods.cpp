// SPDX-License-Identifier: Apache-2.0
#include "google/gmail/method.h"

namespace tidekeeper::googlesim {

using namespace Qt::StringLiterals;

namespace {

/// The last word of the path names the document: vacation, imap, pop, autoForwarding.
QString documentOf(const GmailCall &call)
{
    return call.call.path.section(u'/', -1);
}

Answer get(GmailCall &call)
{
    return Answer::json(call.user.documents.value(documentOf(call)));
}

Answer put(GmailCall &call)
{
    call.user.documents.insert(documentOf(call), call.body);
    return Answer::json(call.body);
}

} // namespace

std::vector<GmailMethod> settingsMethods()
{
    std::vector<GmailMethod> methods;
    const QList<std::pair<QString, QString>> documents{{u"vacation"_s, u"Vacation"_s},
                                                       {u"imap"_s, u"Imap"_s},
                                                       {u"pop"_s, u"Pop"_s},
                                                       {u"autoForwarding"_s, u"AutoForwarding"_s}};
    for (const auto &[path, name] : documents) {
        methods.push_back(
            {"GET", u"settings/"_s + path, u"gmail.users.settings.get"_s + name, Permission::Read, get});
        methods.push_back(
            {"PUT", u"settings/"_s + path, u"gmail.users.settings.update"_s + name, Permission::Modify, put});
    }
    return methods;
}

} // namespace tidekeeper::googlesim
