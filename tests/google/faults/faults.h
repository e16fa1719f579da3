// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "google/call.h"

#include <QtCore/QSet>
#include <QtCore/QStringList>

#include <functional>
#include <optional>
#include <random>

namespace tidekeeper::googlesim {

class World;
struct Kind;

/// What a call is about, as far as a fault may ask.
struct Subject {
    QString method; ///< "gmail.users.watch", "token.refresh", "token.jwt", "fcm.messages.send"
    QString email; ///< the mailbox; empty when there is none
    QString projectId;
    QString clientId = {}; ///< only at the token endpoint
    QString topic = {}; ///< only for users.watch
    QString device = {}; ///< only for FCM
};

/// One fault that was switched on; what it does is its kind's affair.
struct Fault {
    int id = 0;
    const Kind *kind = nullptr;
    QJsonObject asked; ///< as it was posted, to be listed

    // When it strikes.
    QStringList methods; ///< exact, or a prefix and "*"
    Subject only; ///< what is empty does not matter
    double share = 1; ///< of the calls, by lot
    double accountsShare = 1; ///< of the mailboxes, always the same ones
    qint64 untilUs = -1; ///< monotonic; −1 = for ever
    qint64 timesLeft = -1; ///< −1 = without end
    qint64 strikes = 0;

    // What its kind may need.
    bool executes = false; ///< the call takes effect all the same, only its answer is another
    int status = 503;
    qint64 ms = 0;
    qint64 value = 0;
    qint64 retryAfterS = -1;
    qint64 minutes = 15;
    QString text;
    QByteArray body;
    QHash<QString, qint64> lockedUntilUs; ///< by mailbox: a lock-out that runs, or 0 once served
};

/// The faults that are on, in the order in which they were switched on.
class Faults {
public:
    explicit Faults(World &world, quint64 seed = 1);

    /// Where in the life of a call a kind strikes.
    enum class Stage : quint8 {
        Access, ///< before limits are looked at: who may call at all
        Rate, ///< a refusal for its rate; counted as such
        Failure, ///< after the call was admitted and charged
        Limit, ///< changes a limit for the calls it strikes
        Delivery, ///< slow, silent, cut
        Push, ///< keeps a notification from being published
    };

    struct Hit {
        Answer answer;
        QString kind;
        bool executes = false;
    };
    std::optional<Hit> answer(Stage stage, const Subject &subject);

    struct Delivery {
        int delayMs = 0;
        Answer::Ending ending = Answer::Ending::Whole;
        bool executes = true;
    };
    Delivery delivery(const Subject &subject);

    /// A call without limits of its own, from end to end: work, unless a fault puts another answer in its place.
    Answer run(const Subject &subject, const std::function<Answer()> &work);

    /// The limit in force: that of the first fault of this kind that strikes, or the given one.
    qint64 limit(const QString &kind, const Subject &subject, qint64 otherwise);

    /// Switches one on. The answer is what is wrong with it; empty when nothing is.
    QString add(const QJsonObject &asked);
    bool remove(int id);
    void clear() { m_faults.clear(); }
    QJsonObject list() const;

private:
    bool strikes(Fault &fault, const Subject &subject);

    World &m_world;
    std::mt19937_64 m_random;
    std::vector<Fault> m_faults;
    int m_lastId = 0;
};

} // namespace tidekeeper::googlesim
