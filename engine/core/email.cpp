// SPDX-License-Identifier: Apache-2.0
#include "core/email.h"

#include "core/account.h"

#include <algorithm>

using namespace Qt::StringLiterals;

namespace tidekeeper::core {

namespace {

constexpr qsizetype mostBytes = 320; // 64 of the local part, the @, 255 of the domain

tl::unexpected<Error> refused(const QString &why)
{
    return fail(u"invalid_request"_s, u"\"email\" is not a mailbox address: "_s + why,
                {{u"field"_s, u"email"_s}});
}

bool isSpaceOrControl(QChar c)
{
    return c.isSpace() || c.category() == QChar::Other_Control || c.category() == QChar::Other_Format
        || c.isNull();
}

// Dots separate; none may stand at an end or next to another.
bool hasEmptyPart(QStringView text)
{
    return text.isEmpty() || text.startsWith(u'.') || text.endsWith(u'.') || text.contains(u".."_s);
}

} // namespace

Result<QString> checkedEmail(const QString &email)
{
    const QString address = normalizedEmail(email);
    if (address.isEmpty())
        return refused(u"it is empty."_s);
    if (address.toUtf8().size() > mostBytes)
        return refused(u"it is longer than 320 bytes."_s);
    if (std::any_of(address.begin(), address.end(), isSpaceOrControl))
        return refused(u"it contains a space or a control character."_s);
    if (std::any_of(address.begin(), address.end(), [](QChar c) { return u"<>(),;:\"[]\\"_s.contains(c); }))
        return refused(u"write the bare address, without a name, brackets or quotes."_s);
    if (address.count(u'@') != 1)
        return refused(u"it needs exactly one @."_s);
    const qsizetype at = address.indexOf(u'@');
    if (hasEmptyPart(QStringView(address).left(at)))
        return refused(u"the part before the @ is empty or has a dot out of place."_s);
    if (hasEmptyPart(QStringView(address).mid(at + 1)))
        return refused(u"the domain after the @ is empty or has a dot out of place."_s);
    return address;
}

} // namespace tidekeeper::core
