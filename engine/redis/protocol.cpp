// SPDX-License-Identifier: Apache-2.0
#include "redis/protocol.h"

#include <QtCore/QVarLengthArray>

#include <hiredis/hiredis.h>

using namespace Qt::StringLiterals;

namespace tidekeeper::redis {

namespace {

/// More than this is not reserved ahead, whatever length a server announces.
constexpr qsizetype mostReserved = 1024;

Value *slot(const redisReadTask *task)
{
    if (task->parent) {
        // Only the last item of a list is ever under construction, so growing the list moves nobody's parent.
        return &static_cast<Value *>(task->parent->obj)->items.emplaceBack();
    }
    auto *root = static_cast<Value *>(task->privdata);
    *root = Value();
    return root;
}

void *createString(const redisReadTask *task, char *text, size_t size)
{
    Value *value = slot(task);
    value->type = task->type == REDIS_REPLY_ERROR ? Value::Type::Error
        : task->type == REDIS_REPLY_STATUS        ? Value::Type::Status
                                                  : Value::Type::String;
    value->text = QByteArray(text, static_cast<qsizetype>(size));
    return value;
}

// The count is an int in hiredis 0.14 and a size_t since 1.0.
template<typename Count>
void *createArray(const redisReadTask *task, Count count)
{
    Value *value = slot(task);
    value->type = Value::Type::Array;
    value->items.reserve(std::min(static_cast<qsizetype>(count), mostReserved));
    return value;
}

void *createInteger(const redisReadTask *task, long long number)
{
    Value *value = slot(task);
    value->type = Value::Type::Integer;
    value->integer = number;
    return value;
}

void *createNil(const redisReadTask *task)
{
    return slot(task);
}

void freeNothing(void *) { } // values belong to m_root

redisReplyObjectFunctions *functions()
{
    static redisReplyObjectFunctions table = [] {
        redisReplyObjectFunctions made = {};
        made.createString = &createString;
        made.createArray = &createArray;
        made.createInteger = &createInteger;
        made.createNil = &createNil;
        made.freeObject = &freeNothing;
        return made;
    }();
    return &table;
}

} // namespace

ReplyReader::ReplyReader()
{
    reset();
}

ReplyReader::~ReplyReader()
{
    redisReaderFree(m_reader);
}

void ReplyReader::reset()
{
    if (m_reader)
        redisReaderFree(m_reader);
    m_reader = redisReaderCreateWithFunctions(functions());
    Q_CHECK_PTR(m_reader);
    m_reader->privdata = &m_root;
}

void ReplyReader::feed(const char *bytes, qsizetype size)
{
    redisReaderFeed(m_reader, bytes, static_cast<size_t>(size));
}

ReplyReader::Next ReplyReader::next(Value &value)
{
    void *reply = nullptr;
    if (redisReaderGetReply(m_reader, &reply) != REDIS_OK)
        return Next::Broken;
    if (!reply)
        return Next::NeedsMore;
    value = std::exchange(m_root, Value());
    return Next::Complete;
}

QString ReplyReader::problem() const
{
    return QString::fromLatin1(m_reader->errstr);
}

void appendCommand(QByteArray &buffer, const QList<QByteArray> &arguments)
{
    QVarLengthArray<const char *, 16> texts;
    QVarLengthArray<size_t, 16> sizes;
    for (const QByteArray &argument : arguments) {
        texts.append(argument.constData());
        sizes.append(static_cast<size_t>(argument.size()));
    }
    char *command = nullptr;
    const auto size =
        redisFormatCommandArgv(&command, static_cast<int>(arguments.size()), texts.data(), sizes.data());
    if (size < 0)
        qBadAlloc();
    buffer.append(command, static_cast<qsizetype>(size));
    redisFreeCommand(command);
}

} // namespace tidekeeper::redis
