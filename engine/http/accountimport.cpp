// SPDX-License-Identifier: Apache-2.0
#include "http/accountimport.h"

#include <QtCore/QJsonDocument>

#include <algorithm>

using namespace Qt::StringLiterals;

namespace tidekeeper::http {

namespace {

protocol::ImportErrorView errorOf(int line, const Error &error)
{
    return {line, error.code, error.details[u"field"_s].toString(), error.text};
}

Result<std::pair<QString, store::AccountChange>> readLine(const QByteArray &text,
                                                          const AccountRequestReader &reader)
{
    QJsonParseError parsed;
    const QJsonDocument document = QJsonDocument::fromJson(text, &parsed);
    if (parsed.error != QJsonParseError::NoError) {
        return fail(
            u"malformed_json"_s,
            u"The line is not JSON: %1 at column %2."_s.arg(parsed.errorString()).arg(parsed.offset + 1));
    }
    if (!document.isObject())
        return fail(u"malformed_json"_s, u"The line is not a JSON object: write { … } on one line."_s);
    const QJsonObject object = document.object();
    const Result<QString> id = AccountRequestReader::checkedId(object[u"id"_s]);
    if (!id)
        return fail(id.error());
    Result<store::AccountChange> change = reader.read(*id, object);
    if (!change)
        return fail(change.error());
    return std::pair{*id, std::move(*change)};
}

} // namespace

Result<ImportLines> readImport(const QByteArray &body, const AccountRequestReader &reader)
{
    const QList<QByteArray> texts = body.split('\n');
    const auto isLine = [](const QByteArray &text) { return !text.trimmed().isEmpty(); };
    const auto count = std::count_if(texts.begin(), texts.end(), isLine);
    if (count == 0)
        return fail(u"invalid_request"_s, u"The body is empty. Send one JSON object per line."_s);
    if (count > mostImportLines) {
        return fail(u"invalid_request"_s,
                    u"The body has %1 lines, at most %2 are taken at once. Send it in parts; a part that is "
                    u"sent again "
                    u"changes nothing."_s.arg(count)
                        .arg(mostImportLines));
    }
    ImportLines lines;
    for (qsizetype i = 0; i < texts.size(); ++i) {
        const int number = static_cast<int>(i + 1);
        if (!isLine(texts[i]))
            continue;
        auto row = readLine(texts[i], reader);
        if (row) {
            lines.rows.append(std::move(*row));
            lines.lineOfRow.append(number);
        } else {
            lines.errors.append(errorOf(number, row.error()));
        }
    }
    return lines;
}

protocol::ImportView importView(const ImportLines &lines, const QList<Result<store::PutResult>> &stored)
{
    protocol::ImportView view;
    view.errors = lines.errors;
    for (qsizetype i = 0; i < stored.size(); ++i) {
        const Result<store::PutResult> &result = stored[i];
        if (!result)
            view.errors.append(errorOf(lines.lineOfRow[i], result.error()));
        else if (result->created)
            ++view.created;
        else if (result->changed)
            ++view.updated;
        else
            ++view.unchanged;
    }
    std::stable_sort(view.errors.begin(), view.errors.end(),
                     [](const auto &a, const auto &b) { return a.line < b.line; });
    return view;
}

} // namespace tidekeeper::http
