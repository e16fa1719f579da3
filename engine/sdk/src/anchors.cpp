// SPDX-License-Identifier: Apache-2.0
#include <tidekeeper/services.h>

// Every interface's destructor lives here, so that its virtual table and type information exist once per
// process, and so that an ABI checker has something to look at.
namespace tidekeeper {

Reply::~Reply() = default;
QuotaReply::~QuotaReply() = default;
Host::~Host() = default;
Plugin::~Plugin() = default;
SubscriptionProvider::~SubscriptionProvider() = default;
RateLimiter::~RateLimiter() = default;
RateFeedback::~RateFeedback() = default;
LiveSettings::~LiveSettings() = default;
JobHandler::~JobHandler() = default;
Notifier::~Notifier() = default;
Clock::~Clock() = default;
Scheduler::~Scheduler() = default;
Queue::~Queue() = default;
Accounts::~Accounts() = default;
Buckets::~Buckets() = default;
BucketFeedback::~BucketFeedback() = default;
Limiters::~Limiters() = default;
Tokens::~Tokens() = default;
Http::~Http() = default;
Metrics::~Metrics() = default;
EventSink::~EventSink() = default;
Events::~Events() = default;

} // namespace tidekeeper
