// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tidekeeper/reply.h>

#include <QtCore/QObject>

// What a plugin implements. The root object of a plugin is a QObject that implements Plugin and one or more of
// the other interfaces of this header (Q_INTERFACES). Published interfaces are never edited: a new need is a
// new interface with a higher number in its IID.
//
// Threads: [main] = the engine's main thread, never blocked for more than a few milliseconds;
// [any] = any thread.

namespace tidekeeper {

/// What the engine offers to one plugin. Valid from initialize() to the end of the process.
class TIDEKEEPER_SDK_EXPORT Host {
public:
    virtual ~Host();

    /// The service with this IID, or null when the engine does not offer it or the plugin did not list it in
    /// "Needs". Use service<T>(host). [main]
    virtual void *serviceByIid(const char *iid) = 0;

    /// The plugin's section of the configuration, defaults filled in, already checked against ConfigSchema. [main]
    virtual QJsonObject configuration() const = 0;

    /// The configured Google projects by name, without secrets: {"default": {"project_id", "topic", "preset",
    /// "account_capacity", …}}. [main]
    virtual QJsonObject projects() const = 0;

    /// One line in the engine's log, marked with the plugin's id. level: 0 debug, 1 info, 2 warning, 3 error.
    /// Addresses and secrets are redacted, but do not rely on it. [any]
    virtual void log(int level, const QString &text) = 0;
};

/// The life of a plugin: initialize, start, stop, once each and in this order. The object is never deleted and its
/// library never unloaded. An exception that escapes becomes a failure of the plugin.
class TIDEKEEPER_SDK_EXPORT Plugin {
public:
    virtual ~Plugin();

    /// Fetch services, read the configuration; no I/O. A failure is shown with its sentence and the plugin is
    /// not started. [main]
    virtual Status initialize(Host *host) = 0;

    /// Begin work; finish the reply when ready (10 s). [main]
    virtual void start(Reply *reply) = 0;

    /// End work; finish the reply when nothing runs any more (5 s). Also called when start() is not finished yet or
    /// came too late, but not when it reported a failure. [main]
    virtual void stop(Reply *reply) = 0;
};

/// Something that silently expires and that this plugin can renew.
class TIDEKEEPER_SDK_EXPORT SubscriptionProvider {
public:
    virtual ~SubscriptionProvider();

    /// {"provider": "gmail", "lifetime_ms", "window_ms", "limiter": "gmail", "method": "gmail.users.watch",
    ///  "remove_method": "gmail.users.stop", "scopes": […]}: constant after initialize(). Optional:
    ///   "cursor_keys"  keys of "data" that consumers move on: a renewal sets them only while they are empty
    ///   "mode"         "renew" (default) or "observe": show what would be renewed and call nothing
    ///   "batch_size"   most subscriptions that one scan takes, 1 … 500 (default 500)
    /// and, read from the provider "gmail" alone, for all of the engine's renewals:
    ///   "cron"         pattern of the scan (default: every 60 s)
    ///   "consumers"    jobs that run at the same time (default 2)
    ///   "cost"         units of quota that renewing costs (default 0: free)
    ///   "prefetch"     jobs in hand for each consumer, the running one included (default 2)
    /// [main]
    virtual QJsonObject describe() const = 0;

    /// Renews one subscription now; no retry, no waiting: due, lease, quota, back-off and breaker are the
    /// engine's. subscription: {"id", "account", "project", "resource", "external_id", "expires_at",
    /// "last_success_at" (epoch ms, 0 = never), "data": {…}}, and when somebody asked for it "take_over": true (replace
    /// what another environment holds) or "repair": true (it is renewed in vain: end it first).
    ///
    /// Finish with Status ok and {"outcome": …, "code": stable lower_snake_case, for people and alerts (optional),
    /// "text": sentence} and, by outcome:
    ///   renewed          "expires_at" (epoch ms), "data" (merged into the stored data)
    ///   gone             nothing exists to renew any more
    ///   rate             "until" (epoch ms, 0 = unknown), "scope" ("account" or "project")
    ///   transient        try again later
    ///   unauthorized     the access token was not accepted: the engine asks for one fresh token and calls again
    ///   revoked          the user's grant is gone
    ///   configuration    "scope" ("project" or "client"), "remedy" (a sentence for the operator)
    ///   account          "reason" (stable code), "state" ("parked" or "needs_reauth"), "remedy" (optional)
    ///   owned_elsewhere  another environment holds it; "remedy" (optional)
    /// All but renewed may have "data" too, and "ended_at" (epoch ms) when the old subscription was ended on the way.
    /// A Status that is not ok counts as transient. [main]
    virtual void renew(const QJsonObject &subscription, const QString &accessToken, Reply *reply) = 0;

    /// Ends the subscription at the provider; outcomes as above, "gone" when it is removed. [main]
    virtual void remove(const QJsonObject &subscription, const QString &accessToken, Reply *reply) = 0;
};

/// A named limiter that others ask before they call an API.
class TIDEKEEPER_SDK_EXPORT RateLimiter {
public:
    virtual ~RateLimiter();

    /// {"name": "gmail", "projects": {NAME: {"preset", "account_capacity", …, "warnings": […]}}}. [main]
    virtual QJsonObject describe() const = 0;

    /// Decides one request. [main]
    virtual void acquire(const QuotaRequest &request, QuotaReply *reply) = 0;
};

/// A RateLimiter's second interface: it learns from the answers of the API that it guards.
class TIDEKEEPER_SDK_EXPORT RateFeedback {
public:
    virtual ~RateFeedback();

    /// What the API answered: {"account", "project" (optional), "status", "headers" (optional: {name: value}),
    /// "body" (optional: text or object), "grant_id" (optional)} → {"rate": whether it was a refusal for the rate,
    /// "scope": "account" | "project" | "", "family": methods concerned, "" = all, "reason": the API's own word or "",
    /// "retryable", "retry_after_ms", "frozen_until" (epoch ms, 0 = not frozen), "pace" (0 … 1), "text"};
    /// "frozen_until" and "pace" only of a refusal for the rate.
    /// Failures: invalid_request with the field, unknown_project, limiter_unavailable. [main]
    virtual void report(const QJsonObject &answer, Reply *reply) = 0;
};

/// A plugin whose settings change while it runs.
class TIDEKEEPER_SDK_EXPORT LiveSettings {
public:
    virtual ~LiveSettings();

    /// Takes over what operators changed, all of it: what is not in `settings` returns to the configuration. For a
    /// limiter: keys of its section, and {"projects": {NAME: {"account_capacity", …}}}. With dryRun it only says
    /// whether it would. Failure: invalid_settings with the field, and then nothing changed. [main]
    virtual void adjust(const QJsonObject &settings, bool dryRun, Reply *reply) = 0;
};

/// Runs jobs of the types that it names.
class TIDEKEEPER_SDK_EXPORT JobHandler {
public:
    virtual ~JobHandler();

    /// {"types": ["notify"]}: constant after initialize(). Optional: "deadline_ms", how long run() may take (default
    /// 300,000, at most 840,000). A type that two plugins name is run by the one found first. [main]
    virtual QJsonObject describe() const = 0;

    /// Runs one job: {"id", "type", "payload": {…}, "attempt" (from 1), "deferrals"}. At least once: be idempotent.
    /// Finish with ok (done) or with a code: "retry" (counted; details "after_ms" optional), "defer" (not counted;
    /// details "after_ms"), "dead" (details "class"); any other code counts as "retry", and so does no answer in
    /// time. Jobs run beside each other, two at a time. [main]
    virtual void run(const QJsonObject &job, Reply *reply) = 0;
};

/// Delivers one message to one target.
class TIDEKEEPER_SDK_EXPORT Notifier {
public:
    virtual ~Notifier();

    /// {"channel": "fcm"}: constant after initialize(). [main]
    virtual QJsonObject describe() const = 0;

    /// Delivers one message: {"event", "account", "language", "target": {…}, "title", "body", "data": {…}}. [main]
    virtual void notify(const QJsonObject &message, Reply *reply) = 0;
};

} // namespace tidekeeper

#define TIDEKEEPER_PLUGIN_IID "dev.tidekeeper.Plugin/1"

Q_DECLARE_INTERFACE(tidekeeper::Plugin, TIDEKEEPER_PLUGIN_IID)
Q_DECLARE_INTERFACE(tidekeeper::SubscriptionProvider, "dev.tidekeeper.SubscriptionProvider/1")
Q_DECLARE_INTERFACE(tidekeeper::RateLimiter, "dev.tidekeeper.RateLimiter/1")
Q_DECLARE_INTERFACE(tidekeeper::RateFeedback, "dev.tidekeeper.RateFeedback/1")
Q_DECLARE_INTERFACE(tidekeeper::LiveSettings, "dev.tidekeeper.LiveSettings/1")
Q_DECLARE_INTERFACE(tidekeeper::JobHandler, "dev.tidekeeper.JobHandler/1")
Q_DECLARE_INTERFACE(tidekeeper::Notifier, "dev.tidekeeper.Notifier/1")
