// SPDX-License-Identifier: Apache-2.0
#include "google/call.h"

#include <QtCore/QJsonDocument>

namespace tidekeeper::googlesim {

Answer Answer::json(const QJsonObject &object, int status)
{
    Answer answer;
    answer.status = status;
    answer.body = QJsonDocument(object).toJson(QJsonDocument::Compact);
    return answer;
}

Answer Answer::empty(int status)
{
    Answer answer;
    answer.status = status;
    answer.contentType.clear();
    return answer;
}

} // namespace tidekeeper::googlesim
