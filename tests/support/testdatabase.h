// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "store/database.h"

#include <QtCore/QTemporaryDir>

#include <memory>

namespace tidekeeper::test {

/// An empty, migrated database of the test's own: a SQLite file in a temporary folder or, when the environment has
/// TIDEKEEPER_TEST_POSTGRES (a postgres:// URL), a new schema there. Gone with the object.
class TestDatabase {
public:
    TestDatabase();
    ~TestDatabase();

    store::Database &database() { return *m_database; }
    QString folder() const { return m_folder.path(); }
    QString url() const { return m_url; }

    /// Closes the connection and opens a new one on the same data.
    void reopen();
    /// One statement beside the engine's own, with its first column of its first row.
    QVariant sql(const QString &statement);

private:
    void open();

    QTemporaryDir m_folder;
    QString m_server; ///< of PostgreSQL, or empty
    QString m_schema;
    QString m_url;
    std::unique_ptr<store::Database> m_database;
};

} // namespace tidekeeper::test
