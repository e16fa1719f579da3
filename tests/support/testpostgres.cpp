// SPDX-License-Identifier: Apache-2.0
#include "support/testpostgres.h"

#include <QtCore/QDir>
#include <QtCore/QElapsedTimer>
#include <QtCore/QFile>
#include <QtCore/QThread>

#include <csignal>
#include <pwd.h>
#include <sys/prctl.h>
#include <unistd.h>

using namespace Qt::StringLiterals;

namespace tidekeeper::test {

namespace {

constexpr auto userOfDatabase = "tidekeeper"_L1;

// The newest of /usr/lib/postgresql/<version>/bin, where Debian keeps the programs that are not in the PATH.
QString programFolder()
{
    QDir versions(u"/usr/lib/postgresql"_s);
    QString folder;
    double newest = 0;
    for (const QString &version : versions.entryList(QDir::Dirs | QDir::NoDotAndDotDot)) {
        const QString candidate = versions.filePath(version + u"/bin"_s);
        if (version.toDouble() > newest && QFile::exists(candidate + u"/initdb"_s)) {
            newest = version.toDouble();
            folder = candidate;
        }
    }
    return folder;
}

// Whom the server runs as: nobody special when this is not root.
const passwd *serverUser()
{
    if (::geteuid() != 0)
        return nullptr;
    const passwd *user = ::getpwnam("postgres");
    return user ? user : ::getpwnam("nobody");
}

// In the child, before it becomes the program. The death signal last: a change of the user forgets it.
std::function<void()> asServerUser()
{
    const passwd *user = serverUser();
    const bool change = user != nullptr;
    const uid_t uid = change ? user->pw_uid : 0;
    const gid_t gid = change ? user->pw_gid : 0;
    return [change, uid, gid] {
        if (change && (::setgid(gid) != 0 || ::setuid(uid) != 0))
            ::_exit(126);
        ::prctl(PR_SET_PDEATHSIG, SIGQUIT); // an immediate shutdown, which leaves no shared memory behind
    };
}

} // namespace

TestPostgres::TestPostgres() : m_folder(QDir::tempPath() + u"/tk-pg-XXXXXX"_s)
{
    if (const passwd *user = serverUser())
        static_cast<void>(::chown(qPrintable(m_folder.path()), user->pw_uid, user->pw_gid));
}

TestPostgres::~TestPostgres()
{
    resume();
    stop();
}

std::optional<QString> TestPostgres::missing()
{
    if (programFolder().isEmpty())
        return u"no PostgreSQL server in /usr/lib/postgresql: install the package postgresql"_s;
    return std::nullopt;
}

bool TestPostgres::makeFiles()
{
    QProcess initdb;
    initdb.setChildProcessModifier(asServerUser());
    initdb.setWorkingDirectory(m_folder.path());
    initdb.setProcessChannelMode(QProcess::MergedChannels);
    initdb.start(programFolder() + u"/initdb"_s,
                 {u"--pgdata"_s, m_folder.filePath(u"data"_s), u"--username"_s, userOfDatabase, u"--auth"_s,
                  u"trust"_s, u"--encoding"_s, u"UTF8"_s, u"--locale"_s, u"C.UTF-8"_s, u"--no-sync"_s,
                  u"--no-instructions"_s});
    const bool made = initdb.waitForFinished(60'000) && initdb.exitCode() == 0;
    if (!made)
        qWarning("initdb: %s", initdb.readAll().constData());
    return made;
}

bool TestPostgres::start()
{
    if (!QFile::exists(m_folder.filePath(u"data/PG_VERSION"_s)) && !makeFiles())
        return false;
    QStringList arguments{u"-D"_s, m_folder.filePath(u"data"_s), u"-k"_s, m_folder.path()};
    // A test needs no durability across a power cut; what it kills is the process, not the machine.
    for (const auto setting :
         {"listen_addresses="_L1, "fsync=off"_L1, "full_page_writes=off"_L1, "max_connections=50"_L1,
          "log_min_messages=warning"_L1, "deadlock_timeout=200ms"_L1, "autovacuum_naptime=10s"_L1})
        arguments << u"-c"_s << setting;
    m_server.setChildProcessModifier(asServerUser());
    m_server.setWorkingDirectory(m_folder.path());
    m_server.setProcessChannelMode(QProcess::MergedChannels);
    m_server.setStandardOutputFile(m_folder.filePath(u"server.log"_s), QIODevice::Append);
    m_server.start(programFolder() + u"/postgres"_s, arguments);
    if (!m_server.waitForStarted())
        return false;
    QElapsedTimer timer;
    timer.start();
    while (timer.elapsed() < 20'000 && !m_server.waitForFinished(0)) {
        if (sql(u"SELECT 1"_s) == "1")
            return true;
        QThread::msleep(20);
    }
    qWarning("the PostgreSQL server does not start: %s", log().constData());
    return false;
}

void TestPostgres::stop()
{
    if (m_server.state() == QProcess::NotRunning)
        return;
    ::kill(static_cast<pid_t>(m_server.processId()), SIGINT); // cuts connections, then ends in good order
    if (!m_server.waitForFinished(20'000))
        kill();
}

void TestPostgres::kill()
{
    if (m_server.state() == QProcess::NotRunning)
        return;
    signal(SIGKILL);
    m_server.waitForFinished();
}

void TestPostgres::pause()
{
    signal(SIGSTOP);
}

void TestPostgres::resume()
{
    signal(SIGCONT);
}

// The server and one process for each connection; each of those leads a process group of its own.
QList<qint64> TestPostgres::processes() const
{
    const qint64 pid = m_server.processId();
    QList<qint64> all;
    if (pid == 0)
        return all;
    all.append(pid);
    QFile children(u"/proc/%1/task/%1/children"_s.arg(pid));
    if (children.open(QIODevice::ReadOnly)) {
        for (const QByteArray &child : children.readAll().simplified().split(' '))
            all.append(child.toLongLong());
    }
    return all;
}

void TestPostgres::signal(int number) const
{
    for (const qint64 pid : processes()) {
        if (pid > 0)
            ::kill(static_cast<pid_t>(pid), number);
    }
}

QString TestPostgres::url() const
{
    return u"postgres://%1@/postgres?host=%2"_s.arg(userOfDatabase, m_folder.path());
}

QString TestPostgres::freshUrl()
{
    const QString schema = u"test%1"_s.arg(++m_schemas);
    if (sql(u"CREATE SCHEMA "_s + schema) != "CREATE SCHEMA")
        return {};
    return url() + u"&options=-csearch_path%3D"_s + schema;
}

QByteArray TestPostgres::sql(const QString &statement) const
{
    QProcess psql;
    psql.setProcessChannelMode(QProcess::MergedChannels);
    psql.start(programFolder() + u"/psql"_s,
               {u"-h"_s, m_folder.path(), u"-U"_s, userOfDatabase, u"-d"_s, u"postgres"_s, u"-X"_s, u"-A"_s,
                u"-t"_s, u"-c"_s, statement});
    psql.waitForFinished();
    QByteArray answer = psql.readAll();
    if (answer.endsWith('\n'))
        answer.chop(1);
    return answer;
}

QByteArray TestPostgres::log() const
{
    QFile file(m_folder.filePath(u"server.log"_s));
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

} // namespace tidekeeper::test
