// SPDX-License-Identifier: Apache-2.0
// Every argument of every function: what is missing, of another kind or out of range is refused by its name, before
// anything is changed. alisaifee/limits#362, songzhibin97/gkit#133: a negative cost gave quota away; Lua's tonumber
// also takes nan, inf, exponents and hexadecimal.
#include "quotacalls.h"

#include <QtTest/QTest>

using namespace Qt::StringLiterals;
using namespace tidekeeper;
using namespace tidekeeper::test;

namespace {

constexpr qint64 t0 = QuotaRedis::startUs;
constexpr qint64 nowUs = t0 + QuotaRedis::secondUs;

const QByteArray account = QuotaRedis::accountKey();
const QByteArray project = QuotaRedis::projectKey();
const QByteArray policy = QuotaRedis::policyKey();

QByteArray readable(const QByteArray &value)
{
    return value.size() > 24 ? value.left(8) + "… " + QByteArray::number(value.size()) + " bytes"
                             : value.toPercentEncoding(" +,");
}

} // namespace

class TestQuotaArguments : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase();
    void init();

    void goodCallsPass_data();
    void goodCallsPass();
    void badOnesAreNamed_data();
    void badOnesAreNamed();
    void badFieldsOfAPolicyAreNamed_data();
    void badFieldsOfAPolicyAreNamed();
    void tooFewAndTooMany_data();
    void tooFewAndTooMany();
    void timesOfTestsAreChecked();
    void keysOfAnotherTypeChangeNothing_data();
    void keysOfAnotherTypeChangeNothing();
    void manyAccountsAtMost();

private:
    static void addCall(const char *name, const QuotaCall &call, const QByteArrayList &arguments,
                        const QByteArray &error);
    QByteArrayList words(const QByteArray &function, const QByteArrayList &keys,
                         const QByteArrayList &arguments, bool atATime);
    /// Everything there is: contents and expiries of all keys, and what was written to the append-only file.
    QByteArray state();
    void fetchAndRefuse();

    QuotaRedis m_redis{
        {u"--appendonly"_s, u"yes"_s, u"--appendfsync"_s, u"no"_s, u"--enable-debug-command"_s, u"yes"_s}};
};

void TestQuotaArguments::initTestCase()
{
    QVERIFY(m_redis.start());
}

/// A project in use: something of everything that could be changed by mistake.
void TestQuotaArguments::init()
{
    m_redis.restart();
    m_redis.at(t0, QuotaAsk(100).withPlace());
    m_redis.at(t0, QuotaAsk(10).withId("known"));
    m_redis.report(t0 - 300 * QuotaRedis::secondUs, {.retryAfterMs = 1'000, .account = "bob"});
    m_redis.command({"ZADD", QuotaRedis::activeKey(), "1", "alice"});
}

QByteArray TestQuotaArguments::state()
{
    return m_redis.command({"DEBUG", "DIGEST"}).text + ' ' + QByteArray::number(m_redis.appendedBytes());
}

QByteArrayList TestQuotaArguments::words(const QByteArray &function, const QByteArrayList &keys,
                                         const QByteArrayList &arguments, bool atATime)
{
    QByteArrayList words{"FCALL", "tidekeeper_" + function + (atATime ? "_at_v1" : "_v1"),
                         QByteArray::number(keys.size())};
    words += keys;
    if (atATime)
        words.append(QByteArray::number(nowUs));
    return words + arguments;
}

void TestQuotaArguments::addCall(const char *name, const QuotaCall &call, const QByteArrayList &arguments,
                                 const QByteArray &error)
{
    QTest::addRow("%s of %d keys: %s", call.function.constData(), int(call.keys.size()), name)
        << call.function << call.keys << arguments << call.isTimed << error;
}

void TestQuotaArguments::goodCallsPass_data()
{
    QTest::addColumn<QByteArray>("function");
    QTest::addColumn<QByteArrayList>("keys");
    QTest::addColumn<QByteArrayList>("arguments");
    QTest::addColumn<bool>("isTimed");
    QTest::addColumn<QByteArray>("error");
    for (const QuotaCall &call : allQuotaCalls()) {
        addCall("all", call, call.good(), {});
        addCall("needed ones", call, call.good().mid(0, call.needed), {});
        QByteArrayList saidNothing = call.good();
        for (qsizetype i = 0; i < call.arguments.size(); ++i) {
            if (call.arguments[i].kind == ArgumentKind::NumberOrNothing)
                saidNothing[i] = "";
        }
        addCall("nothing said", call, saidNothing, {});
    }
    QByteArrayList fields;
    for (const QuotaArgument &field : policyFields())
        fields << field.name << field.good;
    addCall("all", {"publish", {policy, project}, {}, 0}, fields, {});
}

/// Without this the others would prove nothing.
void TestQuotaArguments::goodCallsPass()
{
    QFETCH(QByteArray, function);
    QFETCH(QByteArrayList, keys);
    QFETCH(QByteArrayList, arguments);
    QFETCH(bool, isTimed);
    const redis::Value answer = m_redis.command(words(function, keys, arguments, isTimed));
    QVERIFY2(!answer.isError(), answer.text);
}

void TestQuotaArguments::badOnesAreNamed_data()
{
    QTest::addColumn<QByteArray>("function");
    QTest::addColumn<QByteArrayList>("keys");
    QTest::addColumn<QByteArrayList>("arguments");
    QTest::addColumn<bool>("isTimed");
    QTest::addColumn<QByteArray>("error");
    for (const QuotaCall &call : allQuotaCalls()) {
        for (qsizetype i = 0; i < call.arguments.size() && call.isTimed; ++i) {
            for (const QByteArray &value : nonsenseFor(call.arguments[i])) {
                QByteArrayList arguments = call.good();
                arguments[i] = value;
                addCall(call.arguments[i].name + " '" + readable(value) + '\'', call, arguments,
                        "TKARG " + call.arguments[i].name + ' ');
            }
        }
    }
}

void TestQuotaArguments::badOnesAreNamed()
{
    fetchAndRefuse();
}

void TestQuotaArguments::fetchAndRefuse()
{
    QFETCH(QByteArray, function);
    QFETCH(QByteArrayList, keys);
    QFETCH(QByteArrayList, arguments);
    QFETCH(bool, isTimed);
    QFETCH(QByteArray, error);
    const QByteArray before = state();
    for (const bool atATime : {true, false}) {
        if (atATime && !isTimed)
            continue;
        const redis::Value answer = m_redis.command(words(function, keys, arguments, atATime));
        QVERIFY2(answer.isError() && answer.text.startsWith(error), answer.text);
        QVERIFY2(answer.text.size() < 200, answer.text); // nothing of the argument in it
    }
    QCOMPARE(state(), before);
}

void TestQuotaArguments::badFieldsOfAPolicyAreNamed_data()
{
    QTest::addColumn<QByteArray>("function");
    QTest::addColumn<QByteArrayList>("keys");
    QTest::addColumn<QByteArrayList>("arguments");
    QTest::addColumn<bool>("isTimed");
    QTest::addColumn<QByteArray>("error");
    const auto fields = policyFields();
    const QuotaCall call{"publish", {policy, project}, {}, 0};
    const auto all = [&fields] {
        QByteArrayList words;
        for (const QuotaArgument &field : fields)
            words << field.name << field.good;
        return words;
    };
    for (qsizetype i = 0; i < fields.size(); ++i) {
        const QByteArray &name = fields[i].name;
        for (const QByteArray &value : nonsenseFor(fields[i])) {
            QByteArrayList words = all();
            words[2 * i + 1] = value;
            addCall(name + " '" + readable(value) + '\'', call, words, "TKARG " + name + ' ');
        }
        if (i < neededPolicyFields) {
            QByteArrayList words = all();
            words.remove(2 * i, 2);
            addCall("no " + name, call, words, "TKARG " + name + " is missing");
        }
    }
    addCall("a name without a value", call, all() << "slots", "TKARG slots ");
    addCall("an unknown name", call,
            all() << "burst"
                  << "1",
            "TKARG burst ");
    addCall("a field of its own", call,
            all() << "changed_us"
                  << "1",
            "TKARG changed_us ");
    addCall("nothing", call, {}, "TKARG ");
}

void TestQuotaArguments::badFieldsOfAPolicyAreNamed()
{
    fetchAndRefuse();
}

void TestQuotaArguments::tooFewAndTooMany_data()
{
    QTest::addColumn<QByteArray>("function");
    QTest::addColumn<QByteArrayList>("keys");
    QTest::addColumn<QByteArrayList>("arguments");
    QTest::addColumn<bool>("isTimed");
    QTest::addColumn<QByteArray>("error");
    for (const QuotaCall &call : allQuotaCalls()) {
        for (qsizetype count = 0; count < call.needed; ++count) {
            if (call.function != "override" || count > 0) // which takes limits away then
                addCall(QByteArray::number(count) + " arguments", call, call.good().mid(0, count), "TKARG ");
        }
        addCall("one argument more", call, call.good() << "1", "TKARG ");
        for (qsizetype count = 0; count <= 6; ++count) {
            QuotaCall other = call;
            while (other.keys.size() > count)
                other.keys.removeLast();
            while (other.keys.size() < count)
                other.keys.append(QuotaRedis::idKey("alice", "more"));
            const qsizetype least = call.function == "hold" || call.function == "refund" ? 4 : 3;
            const bool mayHaveOneMore = least == 4 || call.function == "acquire";
            const bool isRight = call.function == "release"
                ? count == 1
                : count == least || (mayHaveOneMore && count == least + 1);
            if (!isRight)
                addCall("other keys", other, call.good(), "TKARG ");
        }
    }
    QByteArrayList fields;
    for (const QuotaArgument &field : policyFields())
        fields << field.name << field.good;
    for (const QByteArrayList &keys : {QByteArrayList{}, {policy}, {policy, project, account}})
        addCall("other keys", {"publish", keys, {}, 0}, fields, "TKARG keys ");
}

void TestQuotaArguments::tooFewAndTooMany()
{
    fetchAndRefuse();
}

void TestQuotaArguments::timesOfTestsAreChecked()
{
    const QByteArray before = state();
    for (const QuotaCall &call : allQuotaCalls()) {
        if (!call.isTimed)
            continue;
        for (const QByteArray &time : nonsenseFor({"now_us", "", ArgumentKind::Number, overLimitOfTime})) {
            QByteArrayList command = words(call.function, call.keys, call.good(), true);
            command[3 + call.keys.size()] = time;
            const redis::Value answer = m_redis.command(command);
            QVERIFY2(answer.text.startsWith("TKARG now_us "), call.function + ' ' + answer.text);
        }
        const redis::Value none =
            m_redis.command(words(call.function, call.keys, {}, true).mid(0, 3 + call.keys.size()));
        QVERIFY2(none.text.startsWith("TKARG now_us "), none.text);
    }
    QCOMPARE(state(), before);
}

void TestQuotaArguments::keysOfAnotherTypeChangeNothing_data()
{
    QTest::addColumn<QByteArray>("function");
    QTest::addColumn<QByteArrayList>("keys");
    QTest::addColumn<QByteArrayList>("arguments");
    QTest::addColumn<bool>("isTimed");
    QTest::addColumn<QByteArray>("key");
    for (const QuotaCall &call : allQuotaCalls()) {
        for (const QByteArray &key : call.keys) {
            if (call.function == "refund" && key.contains(":id:"))
                continue; // only that there is one counts
            QTest::addRow("%s of %d keys: %s", call.function.constData(), int(call.keys.size()),
                          key.constData())
                << call.function << call.keys << call.good() << call.isTimed << key;
        }
    }
}

/// A key that somebody else used for something else: an error, and not half of a decision.
void TestQuotaArguments::keysOfAnotherTypeChangeNothing()
{
    QFETCH(QByteArray, function);
    QFETCH(QByteArrayList, keys);
    QFETCH(QByteArrayList, arguments);
    QFETCH(bool, isTimed);
    QFETCH(QByteArray, key);
    m_redis.command({"DEL", key});
    m_redis.command({"RPUSH", key, "a list"});
    const QByteArray before = state();
    const redis::Value answer = m_redis.command(words(function, keys, arguments, isTimed));
    QVERIFY2(answer.isError() && answer.text.contains("WRONGTYPE"), answer.text);
    QCOMPARE(state(), before);
}

void TestQuotaArguments::manyAccountsAtMost()
{
    const QByteArrayList keys{project, policy, QuotaRedis::activeKey()};
    QByteArrayList of{"of"};
    for (int i = 0; i < 1'000; ++i)
        of.append("a");
    QVERIFY(!m_redis.command(words("levels", keys, of, true)).isError());
    of.append("a");
    const redis::Value answer = m_redis.command(words("levels", keys, of, true));
    QVERIFY2(answer.text.startsWith("TKARG account "), answer.text);
    // The keys of accounts follow from that of the project.
    QVERIFY(
        m_redis.command(words("levels", {"other", policy, QuotaRedis::activeKey()}, {"of", "alice"}, true))
            .text.startsWith("TKARG keys "));
}

QTEST_GUILESS_MAIN(TestQuotaArguments)
#include "tst_quota_arguments.moc"
