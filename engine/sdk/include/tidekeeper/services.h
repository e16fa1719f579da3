// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tidekeeper/plugin.h>

// What a plugin may ask the engine for, by IID: list the IIDs under "Needs" in the metadata, then
// service<Clock>(host). Every Reply passed in is finished exactly once, on the main thread.

namespace tidekeeper {

/// The service T, or null (see Host::serviceByIid). [main]
template<typename T>
T *service(Host *host)
{
    return static_cast<T *>(host->serviceByIid(qobject_interface_iid<T *>()));
}

class TIDEKEEPER_SDK_EXPORT Clock {
public:
    virtual ~Clock();
    /// Milliseconds since the epoch, UTC, corrected to Redis server time when several engines share one. [any]
    virtual qint64 nowMs() const = 0;
    /// Milliseconds since an arbitrary start; never steps. For durations and deadlines. [any]
    virtual qint64 monotonicMs() const = 0;
};

class TIDEKEEPER_SDK_EXPORT Scheduler {
public:
    virtual ~Scheduler();
    /// Declares a schedule of this plugin: {"id", "title", "cron" or "interval_ms", "zone", "misfire", "overlap",
    /// "jitter_ms", "job": {"type", "payload"}}. What an operator changed since wins. [main]
    virtual Status declare(const QJsonObject &schedule) = 0;
    /// Fires once now, beside its rhythm. [main]
    virtual void runNow(const QString &scheduleId, Reply *reply) = 0;
};

class TIDEKEEPER_SDK_EXPORT Queue {
public:
    virtual ~Queue();
    /// {"type", "payload": {…}, "dedupe": key or "", "delay_ms": 0, "urgent": false} →
    /// {"job": id, "result": "added" | "promoted" | "waiting" | "delayed" | "running"}. [main]
    virtual void enqueue(const QJsonObject &job, Reply *reply) = 0;
};

class TIDEKEEPER_SDK_EXPORT Accounts {
public:
    virtual ~Accounts();
    /// The account as the API shows it; not_found. Never a secret. [main]
    virtual void account(const QString &id, Reply *reply) = 0;
    /// {"devices": [{"id", "token", "platform", "language", "last_seen_at"}]}. [main]
    virtual void devices(const QString &accountId, Reply *reply) = 0;
    /// Forgets one device, for example because the push service says that it is gone. [main]
    virtual void removeDevice(const QString &accountId, const QString &deviceId, Reply *reply) = 0;
};

/// Weighted token buckets in Redis: what a limiter plugin builds on.
class TIDEKEEPER_SDK_EXPORT Buckets {
public:
    virtual ~Buckets();
    /// Publishes the policy of one project of a limiter (units, per minute): {"account_capacity",
    /// "account_refill_per_minute", "project_capacity", "project_refill_per_minute", "bulk_reserve" (0…1),
    /// "project_bulk_reserve" (0…1), "key_ttl_ms", "send_slack_ms", "published_account", "published_project",
    /// "fail_open", "enforce", and, optional: "largest_single_cost" (units that one call may cost) and
    /// "dearest_method" (one that costs so much), "local_fallback", "slots" (places to hold per account),
    /// "day_budget" (units, 0 = none), "day_action" ("warn", "refuse-bulk", "refuse"), "day_zone" (IANA),
    /// "method_families" ({method: family}: which calls a freeze of a family concerns), "account_key" ("base64url" or
    /// "hmac": how accounts are named in Redis) with "account_key_file" (of the HMAC's key); these two count when the
    /// project is first published} → {"warnings": [sentence, …]}.
    /// Refused: invalid_policy with the field. [main]
    virtual void publish(const QString &limiter, const QString &project, const QJsonObject &policy,
                         Reply *reply) = 0;
    /// Takes request.cost from the account's and the project's bucket or from none. request.method only tells the
    /// family of the call. [main]
    virtual void acquire(const QString &limiter, const QuotaRequest &request, QuotaReply *reply) = 0;
};

/// What the API said, brought to the buckets of everyone who shares them.
class TIDEKEEPER_SDK_EXPORT BucketFeedback {
public:
    virtual ~BucketFeedback();
    /// {"account", "project", "rate": bool, "scope": "account" | "project", "family": "" = all methods,
    /// "retry_after_ms": 0 = unknown, "told_limit": units per minute that the API says it allows, 0 = unknown,
    /// "grant_id": optional} → {"frozen_until": epoch ms, 0 = not frozen, "retry_after_ms", "pace": 0 … 1}.
    /// "rate": false is a good answer: it opens a scope that waits for its probe, and its result is empty. Failures:
    /// invalid_request with the field, unknown_project, limiter_unavailable; a freeze that Redis could not be told of
    /// holds in this engine, and Redis is told when it is back. [main]
    virtual void report(const QString &limiter, const QJsonObject &verdict, Reply *reply) = 0;
};

class TIDEKEEPER_SDK_EXPORT Limiters {
public:
    virtual ~Limiters();
    /// Asks the limiter of this name ("gmail"); unknown_limiter. [main]
    virtual void acquire(const QString &limiter, const QuotaRequest &request, QuotaReply *reply) = 0;
};

class TIDEKEEPER_SDK_EXPORT Tokens {
public:
    virtual ~Tokens();
    /// {"access_token", "expires_at"} for an account's grant; failures carry the class in details. [main]
    virtual void forAccount(const QString &accountId, Reply *reply) = 0;
    /// {"access_token", "expires_at", "project_id"} for a service-account key file; cached. [main]
    virtual void forServiceAccount(const QString &keyFile, const QString &scope, Reply *reply) = 0;
};

class TIDEKEEPER_SDK_EXPORT Http {
public:
    virtual ~Http();
    /// {"method", "base": "gmail" | "oauth" | "fcm" | "" , "path" (or a whole "url" without base), "headers": {…},
    ///  "body": text, "bearer": token, "deadline_ms"} → {"status", "headers": {lower-case: value}, "body": text}.
    /// Any HTTP status is ok; failures: timeout, network. [main]
    virtual void send(const QJsonObject &request, Reply *reply) = 0;
};

class TIDEKEEPER_SDK_EXPORT Metrics {
public:
    virtual ~Metrics();
    /// Adds to a counter tidekeeper_plugin_<name>_total; labels are few and never addresses. [any]
    virtual void count(const QString &name, const QJsonObject &labels, qint64 by) = 0;
    /// Sets a gauge tidekeeper_plugin_<name>. [any]
    virtual void gauge(const QString &name, const QJsonObject &labels, double value) = 0;
};

class TIDEKEEPER_SDK_EXPORT EventSink {
public:
    virtual ~EventSink();
    /// One event: {"seq", "type", "at", …}. Delivered at most once in this process. [main]
    virtual void onEvent(const QJsonObject &event) = 0;
};

class TIDEKEEPER_SDK_EXPORT Events {
public:
    virtual ~Events();
    /// Publishes an event of a dotted type, such as "account.reauth_required". [any]
    virtual void publish(const QString &type, const QJsonObject &event) = 0;
    /// Calls sink for every event whose type starts with prefix, until the process ends. [main]
    virtual void subscribe(const QString &prefix, EventSink *sink) = 0;
};

} // namespace tidekeeper

Q_DECLARE_INTERFACE(tidekeeper::Clock, "dev.tidekeeper.Clock/1")
Q_DECLARE_INTERFACE(tidekeeper::Scheduler, "dev.tidekeeper.Scheduler/1")
Q_DECLARE_INTERFACE(tidekeeper::Queue, "dev.tidekeeper.Queue/1")
Q_DECLARE_INTERFACE(tidekeeper::Accounts, "dev.tidekeeper.Accounts/1")
Q_DECLARE_INTERFACE(tidekeeper::Buckets, "dev.tidekeeper.Buckets/1")
Q_DECLARE_INTERFACE(tidekeeper::BucketFeedback, "dev.tidekeeper.BucketFeedback/1")
Q_DECLARE_INTERFACE(tidekeeper::Limiters, "dev.tidekeeper.Limiters/1")
Q_DECLARE_INTERFACE(tidekeeper::Tokens, "dev.tidekeeper.Tokens/1")
Q_DECLARE_INTERFACE(tidekeeper::Http, "dev.tidekeeper.Http/1")
Q_DECLARE_INTERFACE(tidekeeper::Metrics, "dev.tidekeeper.Metrics/1")
Q_DECLARE_INTERFACE(tidekeeper::Events, "dev.tidekeeper.Events/1")
