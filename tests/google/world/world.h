// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "google/oauth/rsakey.h"
#include "google/quota/meter.h"
#include "google/world/mailbox.h"
#include "google/world/settings.h"
#include "google/world/simclock.h"

#include <QtCore/QJsonArray>
#include <QtCore/QMap>
#include <QtCore/QSet>

#include <functional>
#include <map>

namespace tidekeeper::googlesim {

struct Project {
    QString id;
    QString number; ///< "123456789012"
    std::optional<Preset> preset;
    Usage usage;
    SlidingWindow fcmMinute{60'000'000};
};

struct OAuthClient {
    QString id;
    QString secret;
    QString projectId;
};

/// A user's consent to one client.
struct Grant {
    QString refreshToken;
    QString email;
    QString clientId;
    QStringList scopes;
    bool revoked = false;
};

struct Watch {
    QString topic;
    QStringList labelIds;
    qint64 setAtMs = 0;
    qint64 expiresAtMs = 0;
};

/// A mailbox as one project sees it: limits and the watch belong to this pair.
struct User {
    QString email;
    std::shared_ptr<Project> project;
    std::shared_ptr<Mailbox> mailbox;
    Usage usage;
    std::optional<Watch> watch; ///< the latest; may have lapsed
    std::vector<Watch> watches; ///< every one that was set, oldest first
    std::vector<qint64> stopsMs;
    qint64 pushesSent = 0; ///< redeliveries included
    qint64 pushesAcknowledged = 0;
    int lapses = 0; ///< times a watch had run out before the next was set
    qint64 lapsedMs = 0; ///< how long the mailbox was without, until the latest watch
    QMap<QString, QString> ownLabels; ///< id → name
    QStringList drafts; ///< message ids; the draft's id is "r" and that
    QMap<QString, QJsonObject> documents; ///< settings, by name

    bool watching(qint64 nowMs) const { return watch && watch->expiresAtMs > nowMs; }
};

struct ServiceAccount {
    QString email;
    QString projectId;
    RsaKey key;
    QStringList delegatedScopes; ///< for which it may speak for mailboxes; empty = no delegation
};

struct AccessToken {
    QString email; ///< of the mailbox; empty for a service account that speaks for itself
    QString projectId;
    QStringList scopes;
    QString refreshToken; ///< of the grant behind it, or empty
    qint64 expiresAtUs = 0;
};

struct Device {
    QString token;
    QString projectId;
    QString platform;
    bool registered = true;
    qint64 messages = 0;
};

struct Delivery {
    qint64 atMs;
    QString projectId;
    QJsonObject message;
};

struct Totals {
    qint64 tokensIssued = 0;
    qint64 tokenErrors = 0;
    qint64 watches = 0;
    qint64 stops = 0;
    qint64 fcmAccepted = 0;
    qint64 fcmRefused = 0;
    qint64 pushesSent = 0; ///< redeliveries included
    qint64 pushesAcknowledged = 0;
    qint64 pushesRefused = 0; ///< answered otherwise, or not at all
    qint64 pushesSuppressed = 0; ///< by the fault no_push
    QMap<int, qint64> pushRefusalsByStatus; ///< 0 = no answer
    QMap<int, qint64> answersByStatus; ///< of Google's paths, batch parts counted one by one
};

/// Everything the simulator knows. Nothing of it is written to disk.
class World {
public:
    explicit World(SimClock &clock);

    SimClock &clock;
    Settings settings;
    Totals totals;

    std::map<QString, std::shared_ptr<Project>> projects;
    std::map<QString, OAuthClient> clients;
    std::map<QString, ServiceAccount> serviceAccounts;
    std::map<std::pair<QString, QString>, std::shared_ptr<User>> users; ///< by e-mail and project id
    std::map<QString, Device> devices; ///< by token
    std::deque<Delivery> deliveries; ///< the newest 1,000 FCM messages
    QHash<QString, Grant> grants; ///< by refresh token

    std::shared_ptr<Project> project(const QString &id); ///< made when new
    std::shared_ptr<Project> findProject(const QString &idOrNumber) const;
    std::shared_ptr<User> user(const QString &email, const QString &projectId,
                               int threads); ///< made when new
    std::shared_ptr<User> findUser(const QString &email, const QString &projectId) const;

    /// Told of each thing that Gmail notifies the user's watch of.
    std::function<void(User &user)> notify = [](User &) {};
    /// Mail came into a mailbox: notifies each project that watches it.
    void mailArrived(const QString &email);

    Preset presetOf(const Project &project) const { return project.preset.value_or(settings.preset); }
    Limits limitsOf(const Project &project) const;

    QString newRefreshToken();
    /// Hands out an access token that lives for the configured time.
    QString issue(AccessToken token);
    /// The token behind "Bearer …"; nothing when unknown, expired or of a revoked grant.
    std::optional<AccessToken> accepted(const QByteArray &authorization) const;

private:
    void forgetExpiredTokens();

    QHash<QString, AccessToken> m_tokens;
    qsizetype m_sweepAt = 4096;
    quint64 m_serial = 0;
    QHash<QString, std::weak_ptr<Mailbox>> m_mailboxes;
};

/// Names used when a caller gives none.
QString defaultProjectId(); ///< "sim-project"
QString defaultClientId(); ///< "sim-client"
QString defaultClientSecret(); ///< "sim-secret"

} // namespace tidekeeper::googlesim
