// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QtCore/QHash>
#include <QtCore/QStringList>

#include <deque>
#include <memory>
#include <vector>

namespace tidekeeper::googlesim {

struct Message {
    QString id;
    QString threadId;
    QStringList labels;
    quint64 historyId = 0;
    qint64 internalDateMs = 0;
    QByteArray raw; ///< RFC 822
    QByteArray attachment; ///< shown beside the raw text; empty for most
};

/// One change, as history.list tells it.
struct Change {
    enum class Kind : quint8 { MessageAdded, MessageDeleted, LabelAdded, LabelRemoved };
    quint64 id;
    Kind kind;
    QString messageId;
    QString threadId;
    QStringList messageLabels; ///< after the change
    QStringList labels; ///< those added or removed
};

/// What lies in one mailbox. It starts with generated mail, made when somebody first looks.
class Mailbox {
public:
    Mailbox(QString email, int generatedThreads, quint64 historyId)
        : m_email(std::move(email)), m_generatedThreads(generatedThreads), m_historyId(historyId)
    { }

    const QString &email() const { return m_email; }
    quint64 historyId() const { return m_historyId; }
    const std::deque<Change> &changes() const { return m_changes; }
    void forgetChanges(qint64 keep); ///< all but the newest

    using Messages = std::vector<std::shared_ptr<Message>>;
    const Messages &messages(qint64 nowMs); ///< oldest first
    Messages thread(const QString &threadId, qint64 nowMs);
    std::shared_ptr<Message> find(const QString &messageId, qint64 nowMs);

    /// Puts a message in; a thread id that is empty or unknown starts a thread.
    std::shared_ptr<Message> add(const QByteArray &raw, const QStringList &labels, const QString &threadId,
                                 qint64 nowMs);
    void modify(Message &message, const QStringList &addLabels, const QStringList &removeLabels);
    void remove(const QString &messageId);

private:
    void generate(qint64 nowMs);
    QString nextId();
    void record(Change::Kind kind, Message &message, const QStringList &labels);

    QString m_email;
    int m_generatedThreads;
    quint64 m_historyId;
    quint64 m_lastId = 0;
    bool m_generated = false;
    Messages m_messages;
    std::deque<Change> m_changes;
};

} // namespace tidekeeper::googlesim
