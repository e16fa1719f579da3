// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "config/tomlreader.h"

#include <QtCore/QStringList>

namespace tidekeeper::config {

/// Reads one table key by key, typed; collects every fault (wrong type, out of range, unknown key with the
/// nearest known one) instead of stopping at the first.
class SectionReader {
public:
    SectionReader(const Document &document, QList<Error> &faults, QStringList path = {});

    QString text(const QString &key, const QString &fallback = {});
    QString oneOf(const QString &key, const QStringList &allowed, const QString &fallback);
    /// As oneOf, without a fallback: absent stays undefined.
    QJsonValue choice(const QString &key, const QStringList &allowed);
    bool boolean(const QString &key, bool fallback);
    QStringList texts(const QString &key);
    /// The value as written when it is a whole number in the range; absent stays undefined.
    QJsonValue wholeNumber(const QString &key, qint64 least, qint64 most);
    bool contains(const QString &key) const { return m_values.contains(key); }
    /// A table below this one; empty when absent.
    SectionReader section(const QString &key);
    /// The names of the tables below, for tables with names of the operator's own.
    QStringList sectionNames() const;
    /// All of it, without checks: for sections that somebody else checks.
    QJsonObject raw();

    /// Reports a fault of one key, with where it was written and the remedy.
    void fault(const QString &key, const QString &text);
    /// Reports keys that nobody asked for. Call last.
    void refuseUnknown();

private:
    QJsonValue take(const QString &key);
    QString pathOf(const QString &key) const; ///< dotted, as messages name it

    const Document &m_document;
    QList<Error> &m_faults;
    QStringList m_path;
    QJsonObject m_values;
    QStringList m_known;
};

} // namespace tidekeeper::config
