// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/fakeclock.h"

#include <tidekeeper/callback.h>
#include <tidekeeper/services.h>

#include <QtCore/QJsonArray>
#include <QtCore/QPluginLoader>
#include <QtTest/QTest>

#include <memory>
#include <optional>

/// The built plugin, loaded from its file, between a scripted host and scripted buckets.
namespace pluginscene {

using namespace Qt::StringLiterals;
using namespace tidekeeper;

class ScriptedBuckets final : public Buckets, public BucketFeedback {
public:
    void publish(const QString &limiter, const QString &project, const QJsonObject &policy,
                 Reply *reply) override
    {
        published.append({limiter, project});
        const Status status = refusals.value(project);
        if (status.ok())
            policies[project] = policy;
        reply->finish(status, {{u"warnings"_s, QJsonArray::fromStringList(warnings)}});
    }
    void acquire(const QString &, const QuotaRequest &request, QuotaReply *reply) override
    {
        asked = request;
        QuotaAnswer answer;
        answer.granted = true;
        reply->finish(Status::success(), answer);
    }
    void report(const QString &limiter, const QJsonObject &verdict, Reply *reply) override
    {
        reported.append({limiter, verdict});
        reply->finish(feedback, state);
    }

    QMap<QString, Status> refusals; ///< by project
    QStringList warnings{u"Mind the gap."_s};
    QList<std::pair<QString, QString>> published;
    QMap<QString, QJsonObject> policies; ///< by project, the last one that was not refused
    std::optional<QuotaRequest> asked;
    QList<std::pair<QString, QJsonObject>> reported;
    Status feedback;
    QJsonObject state{
        {u"frozen_until"_s, 1'700'000'900'000.0}, {u"retry_after_ms"_s, 900'000}, {u"pace"_s, 0.7}};
};

class ScriptedHost final : public Host {
public:
    void *serviceByIid(const char *iid) override
    {
        if (qstrcmp(iid, "dev.tidekeeper.Buckets/1") == 0)
            return static_cast<Buckets *>(&buckets);
        if (qstrcmp(iid, "dev.tidekeeper.BucketFeedback/1") == 0)
            return static_cast<BucketFeedback *>(&buckets);
        return qstrcmp(iid, "dev.tidekeeper.Clock/1") == 0 ? static_cast<Clock *>(&clock) : nullptr;
    }
    QJsonObject configuration() const override { return section; }
    QJsonObject projects() const override { return configured; }
    void log(int level, const QString &text) override { logged.append({level, text}); }

    ScriptedBuckets buckets;
    test::FakeClock clock;
    QJsonObject section{{u"enforce"_s, true},
                        {u"fail_open"_s, false},
                        {u"local_fallback"_s, true},
                        {u"bulk_reserve"_s, 0.5},
                        {u"project_bulk_reserve"_s, 0.2},
                        {u"send_slack"_s, 2'000},
                        {u"key_ttl"_s, 3'600'000},
                        {u"slots"_s, 10}};
    QJsonObject configured{{u"default"_s, QJsonObject{}},
                           {u"old"_s, QJsonObject{{u"preset"_s, u"gmail-legacy"_s}}}};
    QList<std::pair<int, QString>> logged;
};

struct Ended {
    Status status = Status::failure(u"unanswered"_s, {});
    QJsonObject result;
};

class Scene {
public:
    Scene()
    {
        m_root.reset(m_loader.instance());
        if (!m_root)
            qFatal("%s", qPrintable(m_loader.errorString()));
        plugin = qobject_cast<Plugin *>(m_root.get());
        limiter = qobject_cast<RateLimiter *>(m_root.get());
        feedback = qobject_cast<RateFeedback *>(m_root.get());
        live = qobject_cast<LiveSettings *>(m_root.get());
    }

    /// Calls something that ends with a Reply.
    template<typename Function>
    Ended call(Function function)
    {
        Ended ended;
        function(whenDone(m_root.get(), [&ended](const Status &status, const QJsonObject &result) {
            ended = {status, result};
        }));
        return ended;
    }

    Status run()
    {
        if (const Status status = plugin->initialize(&host); !status.ok())
            return status;
        return call([this](Reply *reply) { plugin->start(reply); }).status;
    }

    QJsonObject metadata() const { return m_loader.metaData()["MetaData"_L1].toObject(); }

    ScriptedHost host;
    Plugin *plugin = nullptr;
    RateLimiter *limiter = nullptr;
    RateFeedback *feedback = nullptr;
    LiveSettings *live = nullptr;

private:
    QPluginLoader m_loader{QStringLiteral(TIDEKEEPER_BINARY_DIR "/lib/tidekeeper/plugins/gmail-quota.so")};
    std::unique_ptr<QObject> m_root; ///< fresh for each scene
};

} // namespace pluginscene
