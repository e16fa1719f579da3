// SPDX-License-Identifier: Apache-2.0
#include "log/redact.h"

#include <QtCore/QRegularExpression>

#include <array>

using namespace Qt::StringLiterals;

namespace tidekeeper::log {

namespace {

struct Rule {
    QRegularExpression pattern;
    QString replacement;
};

const std::array<Rule, 5> &rules()
{
    constexpr auto ignoreCase = QRegularExpression::CaseInsensitiveOption;
    static const std::array<Rule, 5> all{{
        // user:password@ of a URL, before the address rule can take it for one
        {QRegularExpression(u"(://)[^/@\\s]*@"_s), u"\\1[redacted]@"_s},
        {QRegularExpression(u"(bearer\\s+)[A-Za-z0-9._~+/=-]+"_s, ignoreCase), u"\\1[redacted]"_s},
        {QRegularExpression(
             u"((?:refresh_token|access_token|id_token|client_secret|assertion|password|private_key)"
             "[\"']?\\s*[=:]\\s*[\"']?)[^\\s\"'&,}]+"_s,
             ignoreCase),
         u"\\1[redacted]"_s},
        // Google's own forms: access tokens "ya29.…", refresh tokens "1//…"
        {QRegularExpression(u"\\b(?:ya29\\.|1//)[A-Za-z0-9._/-]+"_s), u"[token]"_s},
        {QRegularExpression(u"[^\\s<>\"'(),:;=/\\[\\]{}]+(?:@|%40)[^\\s<>\"'(),:;=/\\[\\]{}&]+"_s,
                            ignoreCase),
         u"[address]"_s},
    }};
    return all;
}

} // namespace

QString redact(const QString &text)
{
    QString result = text;
    for (const Rule &rule : rules())
        result.replace(rule.pattern, rule.replacement);
    return result;
}

} // namespace tidekeeper::log
