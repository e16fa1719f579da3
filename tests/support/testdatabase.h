// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "store/database.h"

#include <QtCore/QTemporaryDir>

#include <memory>

namespace tidekeeper::test {

class TestPostgres;

/// An empty, migrated database of the test's own, gone with the object: a SQLite file in a temporary folder or, when
/// the environment has TIDEKEEPER_TEST_DATABASE=postgres, a new schema on a server that the program starts once.
/// A program whose machine has no such server ends as skipped (77) and says why.
class TestDatabase {
public:
    TestDatabase();
    ~TestDatabase();

    store::Database &database() { return *m_database; }
    QString folder() const { return m_folder.path(); }
    QString url() const { return m_url; }

    static bool onPostgres();
    /// The server of this program; only onPostgres().
    static TestPostgres &server();

    /// Closes the connection and opens a new one on the same data.
    void reopen();
    /// One statement beside the engine's own, with its first column of its first row.
    QVariant sql(const QString &statement);

private:
    void open();

    QTemporaryDir m_folder;
    QString m_url;
    std::unique_ptr<store::Database> m_database;
};

} // namespace tidekeeper::test
