// SPDX-License-Identifier: Apache-2.0
#include "renewal/evidence.h"

#include <QtTest/QTest>

#include <optional>

using namespace Qt::StringLiterals;
using namespace tidekeeper;
using namespace tidekeeper::renewal;
using core::FaultScope;
using core::GrantKind;
using core::Outcome;
using core::OutcomeKind;

namespace {

Outcome of(OutcomeKind kind)
{
    Outcome outcome;
    outcome.kind = kind;
    return outcome;
}

const Fault client{FaultScope::Client, Step::Token, GrantKind::Stored};
const Fault domain{FaultScope::Domain, Step::Token, GrantKind::Delegated};
const Fault topic{FaultScope::Project, Step::Watch, GrantKind::Stored};
const Fault capacity{FaultScope::Project, Step::Quota, GrantKind::Stored};

} // namespace

class TestEvidence : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void evidence_data();
    void evidence();
};

void TestEvidence::evidence_data()
{
    QTest::addColumn<Fault>("fault");
    QTest::addColumn<Attempted>("attempted");
    QTest::addColumn<GrantKind>("grant");
    QTest::addColumn<Evidence>("expected");
    const auto row = [](const char *name, const Fault &fault, Step step, const Outcome &outcome,
                        Evidence expected, std::optional<GrantKind> grant = {}, bool fresh = true) {
        QTest::newRow(name) << fault << Attempted{outcome, step, fresh} << grant.value_or(fault.grant)
                            << expected;
    };
    const Outcome noGrant = Outcome::account(core::AccountState::NeedsReauth, u"no_grant"_s, {});
    const Outcome rapt = Outcome::account(core::AccountState::NeedsReauth, u"invalid_rapt"_s, {});
    const Outcome noUser = Outcome::account(core::AccountState::Parked, u"no_such_user"_s, {});
    const Outcome policy = Outcome::account(core::AccountState::Parked, u"domain_policy"_s, {});
    const Outcome revoked = Outcome::revoked(u"invalid_grant"_s, {});
    const Outcome network = Outcome::transient(u"network"_s, {});
    const Outcome unreadable = Outcome::local(u"grant_unreadable"_s, {});
    const Outcome rate = Outcome::rate(u"rate"_s, {}, 0);
    const Outcome otherFault = Outcome::configuration(FaultScope::Client, u"invalid_client"_s, {}, {});
    const Outcome topicFault = Outcome::configuration(FaultScope::Project, u"topic"_s, {}, {});

    row("client: renewed", client, Step::Watch, of(OutcomeKind::Renewed), Evidence::Sound);
    row("client: invalid_grant", client, Step::Token, revoked, Evidence::Sound);
    row("client: user has to log in again", client, Step::Token, rapt, Evidence::Sound);
    row("client: endpoint away", client, Step::Token, network, Evidence::Unclear);
    row("client: no grant", client, Step::Token, noGrant, Evidence::Unasked);
    row("client: grant unreadable", client, Step::Token, unreadable, Evidence::Unasked);
    row("client: token given, quota refused", client, Step::Quota, rate, Evidence::Sound);
    row("client: token given, watch away", client, Step::Watch, network, Evidence::Sound);
    row("client: token kept, quota refused", client, Step::Quota, rate, Evidence::Unasked, {}, false);
    row("client: token kept, renewed", client, Step::Watch, of(OutcomeKind::Renewed), Evidence::Unasked, {},
        false);
    row("client: token given, topic refused", client, Step::Watch, topicFault, Evidence::Sound);
    row("client: renewed with another kind of grant", client, Step::Watch, of(OutcomeKind::Renewed),
        Evidence::Unasked, GrantKind::Http);
    row("client: revoked by the owner's token service", client, Step::Token, revoked, Evidence::Unasked,
        GrantKind::Http);

    row("domain: renewed", domain, Step::Watch, of(OutcomeKind::Renewed), Evidence::Sound);
    row("domain: unknown user", domain, Step::Token, noUser, Evidence::Unclear);

    row("topic: renewed", topic, Step::Watch, of(OutcomeKind::Renewed), Evidence::Sound);
    row("topic: renewed with another kind of grant", topic, Step::Watch, of(OutcomeKind::Renewed),
        Evidence::Sound, GrantKind::Http);
    row("topic: account refused", topic, Step::Watch, policy, Evidence::Sound);
    row("topic: owned elsewhere", topic, Step::Watch, of(OutcomeKind::OwnedElsewhere), Evidence::Sound);
    row("topic: rate answer", topic, Step::Watch, rate, Evidence::Unclear);
    row("topic: watch away", topic, Step::Watch, network, Evidence::Unclear);
    row("topic: token endpoint away", topic, Step::Token, network, Evidence::Unclear);
    row("topic: invalid_grant", topic, Step::Token, revoked, Evidence::Unasked);
    row("topic: no grant", topic, Step::Token, noGrant, Evidence::Unasked);
    row("topic: wrong secret", topic, Step::Token, otherFault, Evidence::Unasked);
    row("topic: quota refused", topic, Step::Quota, rate, Evidence::Unasked);

    row("capacity: granted, watch away", capacity, Step::Watch, network, Evidence::Sound);
    row("capacity: refused for now", capacity, Step::Quota, rate, Evidence::Unasked);
}

void TestEvidence::evidence()
{
    QFETCH(Fault, fault);
    QFETCH(Attempted, attempted);
    QFETCH(GrantKind, grant);
    QFETCH(Evidence, expected);
    QCOMPARE(evidenceOf(fault, attempted, grant), expected);
}

QTEST_APPLESS_MAIN(TestEvidence)
#include "tst_evidence.moc"
