// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QtCore/QJsonObject>
#include <QtCore/QSet>
#include <QtCore/QStringList>

namespace tidekeeper::googlesim {

/// Reads the fields of a request body one by one and remembers the first thing that is wrong with it: a wrong type,
/// a number out of range or, asked for at the end, a name that nobody read.
class Fields {
public:
    explicit Fields(QJsonObject object) : m_object(std::move(object)) { }

    bool has(const QString &name) const { return m_object.contains(name); }
    QString string(const QString &name, const QString &otherwise = {});
    qint64 integer(const QString &name, qint64 otherwise, qint64 least, qint64 most);
    double number(const QString &name, double otherwise, double least, double most);
    bool boolean(const QString &name, bool otherwise);
    QStringList strings(const QString &name, const QStringList &otherwise = {});
    QJsonValue any(const QString &name);

    void complain(const QString &sentence); ///< kept when it is the first
    QString problem() const; ///< empty when all is well

private:
    QJsonValue take(const QString &name, QJsonValue::Type type, const QString &expected);

    QJsonObject m_object;
    QSet<QString> m_read;
    QString m_problem;
};

} // namespace tidekeeper::googlesim
