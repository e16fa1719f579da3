// SPDX-License-Identifier: Apache-2.0
#include "google/world/mailbox.h"

#include <QtCore/QDateTime>

#include <algorithm>

namespace tidekeeper::googlesim {

using namespace Qt::StringLiterals;

namespace {

constexpr qint64 hourMs = 3600 * 1000;

QByteArray letter(const QString &to, int thread, int place, qint64 dateMs)
{
    const QDateTime date = QDateTime::fromMSecsSinceEpoch(dateMs, Qt::UTC);
    const QString text =
        u"From: Sender %1 <sender%1@example.net>\r\nTo: %2\r\nSubject: %3Matter %4\r\nDate: %5\r\n"
        u"Message-ID: <%4.%6@example.net>\r\nContent-Type: text/plain; charset=UTF-8\r\n\r\n"
        u"This is letter %6 about matter %4.\r\n"_s;
    return text
        .arg(QString::number(thread % 7), to, place > 0 ? u"Re: "_s : QString(), QString::number(thread),
             date.toString(Qt::RFC2822Date), QString::number(place + 1))
        .toUtf8();
}

} // namespace

void Mailbox::generate(qint64 nowMs)
{
    if (m_generated)
        return;
    m_generated = true;
    // History ids of old mail lie below the one the mailbox was born with.
    for (int thread = 0; thread < m_generatedThreads; ++thread) {
        QString threadId;
        for (int place = 0; place <= thread % 3; ++place) {
            auto message = std::make_shared<Message>();
            message->id = nextId();
            message->threadId = threadId = place == 0 ? message->id : threadId;
            message->internalDateMs = nowMs - (m_generatedThreads - thread) * hourMs + place * 60'000;
            message->historyId = m_historyId;
            message->labels = place == 0 ? QStringList{u"INBOX"_s, u"UNREAD"_s} : QStringList{u"INBOX"_s};
            message->raw = letter(m_email, thread, place, message->internalDateMs);
            if (thread % 10 == 0 && place == 0)
                message->attachment = QByteArray(2048, 'a');
            m_messages.push_back(std::move(message));
        }
    }
}

QString Mailbox::nextId()
{
    // Sixteen hexadecimal digits, as Gmail's; a mailbox of its own range keeps them apart in logs.
    const quint64 range = quint64(qHash(m_email, size_t(1)) & 0xffffff) << 32;
    return QString::number(0x1800'0000'0000'0000ULL + range + ++m_lastId, 16);
}

const Mailbox::Messages &Mailbox::messages(qint64 nowMs)
{
    generate(nowMs);
    return m_messages;
}

Mailbox::Messages Mailbox::thread(const QString &threadId, qint64 nowMs)
{
    Messages found;
    for (const auto &message : messages(nowMs)) {
        if (message->threadId == threadId)
            found.push_back(message);
    }
    return found;
}

std::shared_ptr<Message> Mailbox::find(const QString &messageId, qint64 nowMs)
{
    const Messages &all = messages(nowMs);
    const auto found =
        std::find_if(all.begin(), all.end(), [&](const auto &message) { return message->id == messageId; });
    return found == all.end() ? nullptr : *found;
}

std::shared_ptr<Message> Mailbox::add(const QByteArray &raw, const QStringList &labels,
                                      const QString &threadId, qint64 nowMs)
{
    generate(nowMs);
    auto message = std::make_shared<Message>();
    message->id = nextId();
    const bool known = !threadId.isEmpty() && !thread(threadId, nowMs).empty();
    message->threadId = known ? threadId : message->id;
    message->labels = labels;
    message->internalDateMs = nowMs;
    message->raw = raw;
    record(Change::Kind::MessageAdded, *message, {});
    m_messages.push_back(message);
    return message;
}

void Mailbox::modify(Message &message, const QStringList &addLabels, const QStringList &removeLabels)
{
    QStringList added;
    QStringList removed;
    for (const QString &label : addLabels) {
        if (!message.labels.contains(label))
            added << label;
    }
    for (const QString &label : removeLabels) {
        if (message.labels.removeAll(label) > 0)
            removed << label;
    }
    message.labels << added;
    if (!added.isEmpty())
        record(Change::Kind::LabelAdded, message, added);
    if (!removed.isEmpty())
        record(Change::Kind::LabelRemoved, message, removed);
}

void Mailbox::remove(const QString &messageId)
{
    const auto found = std::find_if(m_messages.begin(), m_messages.end(),
                                    [&](const auto &message) { return message->id == messageId; });
    if (found == m_messages.end())
        return;
    record(Change::Kind::MessageDeleted, **found, {});
    m_messages.erase(found);
}

void Mailbox::record(Change::Kind kind, Message &message, const QStringList &labels)
{
    // Ids rise but not by one, as at Gmail.
    m_historyId += 7;
    message.historyId = m_historyId;
    m_changes.push_back({m_historyId, kind, message.id, message.threadId, message.labels, labels});
}

void Mailbox::forgetChanges(qint64 keep)
{
    while (qint64(m_changes.size()) > keep)
        m_changes.pop_front();
}

} // namespace tidekeeper::googlesim
