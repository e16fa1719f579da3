// SPDX-License-Identifier: Apache-2.0
#include <tidekeeper/services.h>

#include <QtCore/QDir>
#include <QtCore/QFile>
#include <QtCore/QRegularExpression>
#include <QtTest/QtTest>

using namespace Qt::StringLiterals;
using namespace tidekeeper;

namespace {

QString textOf(const QString &path)
{
    QFile file(QStringLiteral(TIDEKEEPER_SOURCE_DIR "/") + path);
    return file.open(QIODevice::ReadOnly) ? QString::fromUtf8(file.readAll()) : QString();
}

template<typename... Interfaces>
QStringList iidsOf()
{
    return {QString::fromLatin1(qobject_interface_iid<Interfaces *>())...};
}

} // namespace

/// An IID names one frozen interface, and no ABI checker sees it. A changed interface gets a new IID: add a line to
/// iids.txt, never edit one.
class TestIids : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void areThoseOfTheCommittedList();
    void headersDeclareNoOthers();
};

void TestIids::areThoseOfTheCommittedList()
{
    QStringList iids = iidsOf<Plugin, SubscriptionProvider, RateLimiter, RateFeedback, LiveSettings,
                              JobHandler, Notifier, Clock, Scheduler, Queue, Accounts, Buckets,
                              BucketFeedback, Limiters, Tokens, Http, Metrics, Events>();
    iids.sort();
    QCOMPARE(iids, textOf(u"tests/contract/iids.txt"_s).split(u'\n', Qt::SkipEmptyParts));
    QCOMPARE(QString::fromLatin1(TIDEKEEPER_PLUGIN_IID), u"dev.tidekeeper.Plugin/1"_s);
}

void TestIids::headersDeclareNoOthers()
{
    // Whoever declares an interface without adding it above is caught here.
    const QDir headers(QStringLiteral(TIDEKEEPER_SOURCE_DIR "/engine/sdk/include/tidekeeper"));
    const QRegularExpression iid(u"\"(dev\\.tidekeeper\\.\\w+/\\d+)\""_s);
    QStringList declared;
    for (const QString &name : headers.entryList({u"*.h"_s})) {
        auto match = iid.globalMatch(textOf(u"engine/sdk/include/tidekeeper/"_s + name));
        while (match.hasNext())
            declared.append(match.next().captured(1));
    }
    declared.sort();
    QCOMPARE(declared, textOf(u"tests/contract/iids.txt"_s).split(u'\n', Qt::SkipEmptyParts));
}

QTEST_APPLESS_MAIN(TestIids)
#include "tst_iids.moc"
