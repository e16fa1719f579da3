// SPDX-License-Identifier: Apache-2.0
#include "redis/protocol.h"

#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using namespace tidekeeper::redis;

namespace {

QByteArray shown(const Value &value)
{
    switch (value.type) {
    case Value::Type::Nil:
        return "nil";
    case Value::Type::Integer:
        return QByteArray::number(value.integer);
    case Value::Type::String:
        return '"' + value.text + '"';
    case Value::Type::Status:
        return '+' + value.text;
    case Value::Type::Error:
        return '-' + value.text;
    case Value::Type::Array:
        break;
    }
    QByteArrayList items;
    for (const Value &item : value.items)
        items.append(shown(item));
    return '[' + items.join(' ') + ']';
}

} // namespace

class ProtocolTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void reply_data()
    {
        QTest::addColumn<QByteArray>("bytes");
        QTest::addColumn<QByteArray>("value");
        QTest::newRow("status") << QByteArray("+OK\r\n") << QByteArray("+OK");
        QTest::newRow("error") << QByteArray("-ERR no\r\n") << QByteArray("-ERR no");
        QTest::newRow("integer") << QByteArray(":-9007199254740993\r\n") << QByteArray("-9007199254740993");
        QTest::newRow("string") << QByteArray("$5\r\na\r\nbc\r\n") << QByteArray("\"a\r\nbc\"");
        QTest::newRow("empty string") << QByteArray("$0\r\n\r\n") << QByteArray("\"\"");
        QTest::newRow("nil") << QByteArray("$-1\r\n") << QByteArray("nil");
        QTest::newRow("nil list") << QByteArray("*-1\r\n") << QByteArray("nil");
        QTest::newRow("empty list") << QByteArray("*0\r\n") << QByteArray("[]");
        QTest::newRow("nested") << QByteArray("*3\r\n*2\r\n$1\r\na\r\n*1\r\n:1\r\n$-1\r\n*2\r\n+b\r\n-c\r\n")
                                << QByteArray("[[\"a\" [1]] nil [+b -c]]");
    }

    /// Cut at every place: nothing early, the whole value with the last byte.
    void reply()
    {
        QFETCH(QByteArray, bytes);
        for (qsizetype cut = 0; cut < bytes.size(); ++cut) {
            ReplyReader reader;
            Value value;
            reader.feed(bytes.constData(), cut);
            QCOMPARE(reader.next(value), ReplyReader::Next::NeedsMore);
            reader.feed(bytes.constData() + cut, bytes.size() - cut);
            QCOMPARE(reader.next(value), ReplyReader::Next::Complete);
            QTEST(shown(value), "value");
            QCOMPARE(reader.next(value), ReplyReader::Next::NeedsMore);
        }
    }

    void otherProtocolIsBrokenUntilReset()
    {
        ReplyReader reader;
        Value value;
        reader.feed("HTTP/1.1 400 Bad Request\r\n", 26);
        QCOMPARE(reader.next(value), ReplyReader::Next::Broken);
        QVERIFY(!reader.problem().isEmpty());
        reader.reset();
        reader.feed("+OK\r\n", 5);
        QCOMPARE(reader.next(value), ReplyReader::Next::Complete);
    }

    void announcedLengthCostsNoMemory()
    {
        ReplyReader reader;
        Value value;
        reader.feed("*1000000000\r\n:1\r\n", 17);
        QCOMPARE(reader.next(value), ReplyReader::Next::NeedsMore);
    }

    void commandIsBinarySafe()
    {
        QByteArray bytes;
        appendCommand(bytes, {"SET", "", QByteArray("a\0\r\n", 4)});
        QCOMPARE(bytes, QByteArray("*3\r\n$3\r\nSET\r\n$0\r\n\r\n$4\r\na\0\r\n\r\n", 29));
    }

    void integerOfAValue()
    {
        QCOMPARE((Value{Value::Type::Integer, 7, {}, {}}.toInteger()), 7);
        QCOMPARE((Value{Value::Type::String, 0, "8", {}}.toInteger()), 8);
        QCOMPARE((Value{Value::Type::String, 0, "8x", {}}.toInteger(-1)), -1);
        QCOMPARE(Value().toInteger(-1), -1);
    }
};

QTEST_GUILESS_MAIN(ProtocolTest)
#include "tst_protocol.moc"
