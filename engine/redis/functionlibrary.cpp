// SPDX-License-Identifier: Apache-2.0
#include "redis/functionlibrary.h"

#include "redis/callbackawaiter.h"

#include <QtCore/QDeadlineTimer>
#include <QtCore/QFile>
#include <QtCore/QRegularExpression>
#include <QtCore/QTimer>

using namespace Qt::StringLiterals;

// The resources of a static library are registered by whoever uses them; the macro must stand outside a namespace.
static void registerLuaResources()
{
    Q_INIT_RESOURCE(lua);
}

namespace tidekeeper::redis {

namespace {

constexpr int loadTimeoutMs = 2000;

int buildOf(const QByteArray &code)
{
    static const QRegularExpression line(u"^-- build: (\\d+)"_s, QRegularExpression::MultilineOption);
    return line.match(QString::fromUtf8(code)).captured(1).toInt();
}

/// The function was not there, so nothing was executed.
bool isMissing(const Value &reply)
{
    return reply.isError() && reply.text.startsWith("ERR Function not found");
}

} // namespace

class FunctionLibrary::Loader : public std::enable_shared_from_this<Loader> {
public:
    using Done = std::function<void(Result<>)>;

    RedisConnection &connection;
    const QByteArray name;
    const QByteArray code;
    const int build;

    Loader(RedisConnection &redis, QByteArray libraryName, QByteArray libraryCode)
        : connection(redis), name(std::move(libraryName)), code(std::move(libraryCode)), build(buildOf(code))
    { }

    void load(Done done)
    {
        m_waiting.push_back(std::move(done));
        if (m_waiting.size() == 1)
            run(shared_from_this());
    }

private:
    static QCoro::Task<> run(std::shared_ptr<Loader> self)
    {
        const Result<> loaded = co_await self->loadIfNeeded();
        for (const Done &done : std::exchange(self->m_waiting, {}))
            done(loaded);
    }

    QCoro::Task<Result<>> loadIfNeeded()
    {
        const QList<QByteArray> askBuild{"FCALL", name + "_build", "0"};
        bool isThere = false;
        for (;;) {
            const Result<Value> found = co_await connection.command(askBuild, loadTimeoutMs);
            if (!found)
                co_return fail(found.error());
            if (found->type == Value::Type::Integer && found->integer >= build)
                co_return Result<>();
            if (found->isError() && !isMissing(*found))
                co_return refused(*found);

            // An absent library is loaded without REPLACE, so that a newer engine that loads at the same moment wins.
            isThere = isThere || !found->isError();
            const Result<Value> loaded = co_await connection.command(loadCommand(isThere), loadTimeoutMs);
            if (!loaded)
                co_return fail(loaded.error());
            if (!loaded->isError())
                co_return Result<>();
            if (isThere || !loaded->text.contains("'" + name + "' already exists"))
                co_return refused(*loaded);
            isThere = true;
        }
    }

    QList<QByteArray> loadCommand(bool replace) const
    {
        if (replace)
            return {"FUNCTION", "LOAD", "REPLACE", code};
        return {"FUNCTION", "LOAD", code};
    }

    tl::unexpected<Error> refused(const Value &reply) const
    {
        const QString text = QString::fromUtf8(reply.text);
        if (text.contains(u"unknown command"_s))
            return fail(u"redis_too_old"_s,
                        u"This Redis has no functions (%1). Use Redis 7.0 or later."_s.arg(text));
        return fail(u"functions_refused"_s,
                    u"Redis refused the function library %1: %2"_s.arg(QString::fromUtf8(name), text));
    }

    std::vector<Done> m_waiting;
};

/// A call that found no library: the same once more behind the load, its answer in time or `functions_missing`.
struct FunctionLibrary::Again {
    std::shared_ptr<Loader> loader;
    QList<QByteArray> command;
    int timeoutMs;
    QDeadlineTimer deadline;

    void afterLoading(RedisConnection::Callback callback) const
    {
        // Whoever comes first takes the callback: the end of the time or the end of the load.
        const auto waiting = std::make_shared<RedisConnection::Callback>(std::move(callback));
        QTimer::singleShot(int(deadline.remainingTime()), Qt::PreciseTimer, &loader->connection, [waiting] {
            if (const auto late = std::exchange(*waiting, nullptr))
                late(fail(missing(u"it was not loaded in time"_s)));
        });
        loader->load([again = *this, waiting](const Result<> &loaded) {
            const auto asking = std::exchange(*waiting, nullptr);
            if (asking && loaded)
                again.send(asking);
            else if (asking)
                asking(fail(loaded.error()));
        });
    }

private:
    void send(const RedisConnection::Callback &callback) const
    {
        auto answered = [callback](Result<Value> reply) {
            if (!reply && reply.error().code == "redis_timeout"_L1)
                callback(fail(missing(reply.error().text)));
            else
                callback(std::move(reply));
        };
        const int leftMs = std::max(1, int(deadline.remainingTime()));
        loader->connection.send(command, std::move(answered), timeoutMs > 0 ? leftMs : 0);
    }

    static Error missing(const QString &why)
    {
        return {u"functions_missing"_s, u"Redis had lost the function library: %1."_s.arg(why), {}};
    }
};

FunctionLibrary::FunctionLibrary(RedisConnection &connection, QByteArray name, QByteArray code)
    : m_loader(std::make_shared<Loader>(connection, std::move(name), std::move(code)))
{ }

QByteArray FunctionLibrary::embedded(const QString &file)
{
    registerLuaResources();
    QFile resource(u":/tidekeeper/lua/"_s + file);
    if (!resource.open(QIODevice::ReadOnly))
        return {};
    return resource.readAll();
}

int FunctionLibrary::build() const
{
    return m_loader->build;
}

const QByteArray &FunctionLibrary::name() const
{
    return m_loader->name;
}

QCoro::Task<Result<>> FunctionLibrary::ensureLoaded()
{
    auto settled = awaitCallback<Result<>>([&](Loader::Done done) { m_loader->load(std::move(done)); });
    Result<> loaded = co_await settled;
    co_return loaded;
}

QCoro::Task<Result<Value>> FunctionLibrary::call(QByteArray function, QList<QByteArray> keys,
                                                 QList<QByteArray> arguments, int timeoutMs)
{
    auto answered = awaitCallback<Result<Value>>([&](RedisConnection::Callback callback) {
        call(function, keys, arguments, std::move(callback), timeoutMs);
    });
    Result<Value> reply = co_await answered;
    co_return reply;
}

void FunctionLibrary::call(const QByteArray &function, const QList<QByteArray> &keys,
                           const QList<QByteArray> &arguments, RedisConnection::Callback callback,
                           int timeoutMs)
{
    QList<QByteArray> command;
    command.reserve(3 + keys.size() + arguments.size());
    command << "FCALL" << function << QByteArray::number(keys.size()) << keys << arguments;

    const Again again{m_loader, command, timeoutMs,
                      QDeadlineTimer(timeoutMs > 0 ? timeoutMs : loadTimeoutMs)};
    auto answered = [again, callback = std::move(callback)](Result<Value> reply) {
        if (reply && isMissing(*reply))
            again.afterLoading(callback);
        else
            callback(std::move(reply));
    };
    m_loader->connection.send(command, std::move(answered), timeoutMs);
}

} // namespace tidekeeper::redis
