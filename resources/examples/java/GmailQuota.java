// SPDX-License-Identifier: Apache-2.0

import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.OffsetDateTime;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.time.format.DateTimeParseException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.LongStream;
import java.util.stream.Stream;

import redis.clients.jedis.ConnectionPoolConfig;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.RedisClient;
import redis.clients.jedis.SslOptions;
import redis.clients.jedis.exceptions.JedisAccessControlException;
import redis.clients.jedis.exceptions.JedisException;
import redis.clients.jedis.util.JedisURIHelper;

/**
 * Units of Gmail's quota from the buckets that Tidekeeper keeps in Redis. Copy this file; ../README.md explains it. For
 * threads, virtual ones too; Java 17 and Jedis 7.2 or later.
 */
public final class GmailQuota implements AutoCloseable {
    /** By Google's table of May 2026. For projects of before that, and for other methods, give a cost. */
    public static final Map<String, Integer> COSTS = costs("""
            getProfile 1 history.list 2 watch 100 stop 50 labels.list 1 labels.get 1 messages.list 5 messages.get 20
            messages.attachments.get 20 messages.modify 5 messages.batchModify 50 messages.trash 20 messages.delete 10
            messages.insert 25 messages.send 100 threads.list 10 threads.get 40 threads.modify 10 threads.trash 20
            drafts.create 10 drafts.get 20 drafts.list 5 drafts.update 15 drafts.send 100""");

    /** Do not call Gmail now: run the job again after retryAfterMs. −1: never, no grant is ever that large. */
    public static final class QuotaRefused extends RuntimeException {
        public final String refusedBy;
        public final long retryAfterMs;

        QuotaRefused(String refusedBy, long retryAfterMs, String text) {
            super("Gmail quota refused by " + refusedBy + text);
            this.refusedBy = refusedBy;
            this.retryAfterMs = retryAfterMs;
        }
    }

    /** share: of the limits, for this process while Redis is away: 1 ÷ number of processes. */
    public record Options(String project, boolean failOpen, double share, int commandTimeoutMs) {
        public static final Options DEFAULT = new Options("default", true, 1, 100);
    }

    /** What is asked for: Ask.of("threads.get").bulk().waiting(5000). Methods are without "gmail.users.". */
    public record Ask(long cost, String family, String lane, long maxWaitMs) {
        public static Ask of(String method) {
            return of(method, 1);
        }

        public static Ask of(String method, int count) {
            if (!COSTS.containsKey(method))
                throw new IllegalArgumentException("The cost of " + method + " is not known: use Ask.units().");
            String family = method.endsWith(".send") ? "mail_sending" : "";
            return new Ask((long) COSTS.get(method) * count, family, "realtime", 0);
        }

        public static Ask units(long cost) {
            return new Ask(cost, "", "realtime", 0);
        }

        public Ask bulk() {
            return new Ask(cost, family, "bulk", maxWaitMs);
        }

        public Ask waiting(long maxWaitMs) {
            return new Ask(cost, family, lane, maxWaitMs);
        }
    }

    public record Grant(String name, long cost, long waitMs, long grantUs, boolean degraded) {}

    public record Meaning(boolean rate, String scope, String family, long retryAfterMs) {}

    private static final class Bucket { // amounts in milli-units, instants in ms
        double capacity, reserve, perMs, level, at, owed, frozenUntil;
    }

    private static final Pattern OUR_FAULT =
            Pattern.compile("^(TKPOLICY|NOPERM|NOAUTH|WRONGPASS)|Function not found|user executing the script");
    private static final String RATE_REASON =
            "\"(user_?rate_?limit_?exceeded|rate_?limit_?exceeded|quotaExceeded|dailyLimitExceeded)\"";
    private static final int MOST_BUCKETS = 10_000; // remembered for the time without Redis

    private final RedisClient redis;
    private final Options options;
    private final String prefix;
    private final Map<String, Bucket> buckets = new LinkedHashMap<>(16, 0.75f, true) { // the least used one goes first
        @Override
        protected boolean removeEldestEntry(Map.Entry<String, Bucket> eldest) {
            return size() > MOST_BUCKETS;
        }
    };
    // Capacity, refill and reserve: until they are read.
    private volatile double[] accountLimits = {360_000, 5450, 180_000};
    private volatile double[] projectLimits = {72e6, 1_090_000, 14.4e6};
    private volatile double askAgainAt, limitsReadAt = -1e9;
    private volatile double serverUs = Double.NaN; // what to add to our clock

    public GmailQuota(URI url, Options options) {
        this.options = options;
        prefix = "tk:{gmail:" + options.project() + "}:";
        ConnectionPoolConfig pool = new ConnectionPoolConfig();
        pool.setMaxTotal(64);
        pool.setMaxIdle(64);
        pool.setMaxWait(Duration.ofMillis(options.commandTimeoutMs()));
        DefaultJedisClientConfig.Builder config = DefaultJedisClientConfig.builder().user(JedisURIHelper.getUser(url))
                .password(JedisURIHelper.getPassword(url)).connectionTimeoutMillis(500)
                .socketTimeoutMillis(options.commandTimeoutMs());
        if (JedisURIHelper.isRedisSSLScheme(url))
            config.sslOptions(SslOptions.defaults());
        redis = RedisClient.builder().hostAndPort(JedisURIHelper.getHostAndPort(url)).clientConfig(config.build())
                .poolConfig(pool).build();
    }

    @Override
    public void close() {
        redis.close();
    }

    /** Returns when Gmail may be called, within the next 2 s; else throws QuotaRefused. */
    public Grant acquire(String account, Ask ask) throws InterruptedException {
        String name = keyName(account);
        Grant grant = decide(name, ask);
        Thread.sleep(grant.waitMs);
        if (grant.waitMs > 1000) { // Gmail may have refused a call meanwhile: a freeze makes the booking void
            try {
                decide(name, new Ask(0, ask.family, ask.lane, 0));
            } catch (QuotaRefused refused) {
                refund(grant);
                throw refused;
            }
        }
        return grant;
    }

    /** Says what Gmail answered, so that a refusal pauses everybody. grant: may be null. */
    public Meaning report(String account, int status, Map<String, String> headers, String body, Grant grant) {
        Answer answer = Answer.of(status, headers, body);
        String name = keyName(account);
        long retryAfterMs = answer.retryAfterMs;
        try {
            if (!answer.verdict.isEmpty()) {
                List<?> told = call("report", keys(name), answer.verdict, answer.scope, answer.family, retryAfterMs,
                        grant == null ? 0 : grant.grantUs, grant == null ? 0 : grant.cost, answer.toldLimit);
                retryAfterMs = answer.isRate() ? (Long) told.get(2) : retryAfterMs;
            }
        } catch (QuotaRefused error) {
            onlyAway(error);
            retryAfterMs = answer.isRate() && retryAfterMs == 0 ? 1000 : retryAfterMs;
        }
        if (answer.isRate() && answer.family.isEmpty())
            freeze(answer.scope.equals("account") ? name : "", retryAfterMs);
        return new Meaning(answer.isRate(), answer.scope, answer.family, retryAfterMs);
    }

    /** Gives back what was not sent, within 60 s: whether it was. Without Redis nothing comes back. */
    public boolean refund(Grant grant) {
        if (grant.grantUs == 0)
            return false;
        List<String> keys = new ArrayList<>(keys(grant.name));
        keys.add(prefix + "id:" + grant.name + ":." + grant.grantUs);
        try {
            return call("refund", keys, grant.cost, grant.grantUs).get(0).equals(1L);
        } catch (QuotaRefused error) {
            return onlyAway(error);
        }
    }

    private Grant decide(String name, Ask ask) {
        boolean isAway;
        synchronized (this) {
            isAway = nowMs() < askAgainAt;
            if (askAgainAt > 0 && !isAway)
                askAgainAt = nowMs() + 1000; // of those who call while Redis is away one a second tries it
        }
        if (!isAway) {
            try {
                return decideInRedis(name, ask, true);
            } catch (QuotaRefused error) {
                if (!error.refusedBy.equals("unavailable"))
                    throw error;
                askAgainAt = nowMs() + 1000;
            }
        }
        return decideAlone(name, ask);
    }

    private Grant decideInRedis(String name, Ask ask, boolean again) {
        readLimits();
        settle(name);
        double sent = nowMs();
        // Later than this the call has been given up, and must not be charged.
        Object deadlineUs = Double.isNaN(serverUs) ? "" : (long) (serverUs + (sent + options.commandTimeoutMs) * 1000);
        List<?> a = call("acquire", keys(name), ask.cost, ask.lane, ask.maxWaitMs, deadlineUs, ask.family);
        String refusedBy = (String) a.get(3);
        long retryAfterMs = (Long) a.get(2), grantUs = (Long) a.get(8);
        synchronized (this) {
            askAgainAt = 0;
            serverUs = grantUs - sent * 1000;
            bucket(name).level = (Long) a.get(4) * options.share;
            bucket("").level = (Long) a.get(6) * options.share;
        }
        if (refusedBy.endsWith("_frozen"))
            freeze(refusedBy.equals("account_frozen") ? name : "", retryAfterMs);
        if (refusedBy.equals("late") && again) // the server's clock was set
            return decideInRedis(name, ask, false);
        if (!a.get(0).equals(1L))
            throw new QuotaRefused(refusedBy, retryAfterMs, "");
        return new Grant(name, ask.cost, (Long) a.get(1), grantUs, false);
    }

    /** While Redis is away: by the same buckets in this process. */
    private synchronized Grant decideAlone(String name, Ask ask) {
        if (!options.failOpen)
            throw new QuotaRefused("unavailable", 1000, "");
        Bucket account = bucket(name), project = bucket("");
        long frozenMs = (long) Math.ceil(Math.max(account.frozenUntil, project.frozenUntil) - nowMs());
        if (frozenMs > 0)
            throw new QuotaRefused(account.frozenUntil > project.frozenUntil ? "account_frozen" : "project_frozen",
                    frozenMs, "");
        boolean bulk = ask.lane.equals("bulk");
        long accountMs = waitMs(account, ask.cost, bulk), projectMs = waitMs(project, ask.cost, bulk);
        double longestMs = bulk ? Math.min(ask.maxWaitMs, account.reserve / 2 / account.perMs) : ask.maxWaitMs;
        if (projectMs > 0)
            throw new QuotaRefused("project", projectMs, "");
        if (accountMs > longestMs)
            throw new QuotaRefused("account", (long) Math.ceil(accountMs - longestMs), "");
        account.level -= ask.cost * 1000;
        project.level -= ask.cost * 1000;
        account.owed += ask.cost * 1000;
        return new Grant(name, ask.cost, accountMs, 0, true);
    }

    private long waitMs(Bucket bucket, long cost, boolean bulk) {
        double floor = bulk ? bucket.reserve : 0, most = bucket.capacity - floor;
        if (cost * 1000 * options.share > most)
            throw new QuotaRefused("never", -1, "");
        double needed = Math.min(cost * 1000, most) + floor - bucket.level;
        return cost > 0 && needed > 0 ? (long) Math.ceil(needed / bucket.perMs) : 0;
    }

    /** A bucket as it is now; that of the project has no name. The lock is held. */
    private Bucket bucket(String name) {
        double[] limits = name.isEmpty() ? projectLimits : accountLimits;
        double now = nowMs();
        Bucket bucket = buckets.get(name);
        if (bucket == null) {
            buckets.put(name, bucket = new Bucket());
            bucket.level = limits[0] * options.share;
            bucket.at = now;
        }
        bucket.capacity = limits[0] * options.share;
        bucket.perMs = limits[1] * options.share / 60;
        bucket.reserve = limits[2] * options.share;
        bucket.level = Math.min(bucket.capacity, bucket.level + (now - bucket.at) * bucket.perMs);
        bucket.at = now;
        return bucket;
    }

    private synchronized void freeze(String name, long ms) {
        bucket(name).frozenUntil = nowMs() + ms;
    }

    /** Tells Redis what was granted while it was away. */
    private void settle(String name) {
        long owed;
        synchronized (this) {
            Bucket bucket = bucket(name);
            owed = (long) Math.ceil(Math.min(bucket.owed, bucket.capacity - bucket.level)); // the rest has refilled
            bucket.owed = 0;
        }
        if (owed <= 0)
            return;
        try {
            call("settle", keys(name), owed, owed);
        } catch (QuotaRefused error) {
            synchronized (this) {
                bucket(name).owed += owed;
            }
            throw error;
        }
    }

    private void readLimits() {
        if (nowMs() < limitsReadAt + 10_000)
            return;
        limitsReadAt = nowMs();
        try {
            List<String> values = redis.hmget(prefix + "policy", "account_capacity_milli", "account_refill_per_minute",
                    "account_reserve_milli", "project_capacity_milli", "project_refill_per_minute",
                    "project_reserve_milli");
            if (values.contains(null))
                return;
            double[] limits = values.stream().mapToDouble(Double::parseDouble).toArray();
            accountLimits = Arrays.copyOf(limits, 3);
            projectLimits = Arrays.copyOfRange(limits, 3, 6);
        } catch (JedisException error) {
            return; // those known so far go on
        }
    }

    private List<String> keys(String name) {
        return List.of(prefix + "account:" + name, prefix + "project", prefix + "policy");
    }

    private List<?> call(String name, List<String> keys, Object... arguments) {
        try {
            List<String> texts = Stream.of(arguments).map(String::valueOf).toList();
            return (List<?>) redis.fcall("tidekeeper_" + name + "_v1", keys, texts);
        } catch (JedisException error) {
            String text = String.valueOf(error.getMessage());
            if (text.startsWith("TKARG"))
                throw new IllegalArgumentException(text);
            // Somebody has to mend these; waiting for Redis does not.
            boolean isFault = error instanceof JedisAccessControlException || OUR_FAULT.matcher(text).find();
            throw new QuotaRefused(isFault ? "not_published" : "unavailable", 1000, " (" + text + ")");
        }
    }

    private static boolean onlyAway(QuotaRefused error) {
        if (!error.refusedBy.equals("unavailable"))
            throw error;
        return false;
    }

    private static double nowMs() {
        return System.nanoTime() / 1e6;
    }

    private static String keyName(String account) {
        StringBuilder lower = new StringBuilder(account.strip()); // A to Z and nothing else
        for (int i = 0; i < lower.length(); ++i) {
            if (lower.charAt(i) >= 'A' && lower.charAt(i) <= 'Z')
                lower.setCharAt(i, (char) (lower.charAt(i) + 'a' - 'A'));
        }
        byte[] bytes = lower.toString().getBytes(StandardCharsets.UTF_8);
        return Base64.getUrlEncoder().withoutPadding().encodeToString(bytes);
    }

    private static Map<String, Integer> costs(String table) {
        String[] words = table.split("\\s+");
        Map<String, Integer> costs = new TreeMap<>();
        for (int i = 0; i < words.length; i += 2)
            costs.put(words[i], Integer.valueOf(words[i + 1]));
        return costs;
    }

    /** What an answer of Gmail says about the rate. The reason decides, which comes with 403 or 429. */
    private record Answer(String verdict, String scope, String family, long retryAfterMs, long toldLimit) {
        boolean isRate() {
            return verdict.equals("rate");
        }

        static Answer of(int status, Map<String, String> given, String body) {
            String text = body == null ? "" : body;
            Map<String, String> headers = new TreeMap<>(String.CASE_INSENSITIVE_ORDER);
            headers.putAll(given == null ? Map.of() : given);
            String reason = first(RATE_REASON, text);
            boolean isRate = status >= 400 && status < 500 && (status == 429 || !reason.isEmpty()
                    || !first("(rate limit exceeded|quota exceeded for quota metric)", text).isEmpty());
            boolean daily = isRate && !first("(dailyLimitExceeded|PerDay|per day)", text).isEmpty();
            long date = httpDateMs(headers.get("date")), now = date > 0 ? date : System.currentTimeMillis();
            String after = headers.getOrDefault("retry-after", "");
            long told = LongStream.of(isoMs(first("Retry after\\s+([\\dT:.Z+-]+)", text)) - now,
                    after.matches("\\d{1,9}") ? Long.parseLong(after) * 1000 : httpDateMs(after) - now)
                    .filter(ms -> ms > 0).findFirst().orElse(0);
            long hintMs = daily ? 3_600_000 : told; // one call an hour finds out whether the day is over
            long retryAfterMs = hintMs == 0 || status < 400 ? 0 : Math.min(Math.max(hintMs, 1000), 86_400_000);
            if (!isRate) { // a failure of Gmail's own or a refused token says nothing about the rate
                boolean passed = status < 500 && status != 401 && status != 403 && status != 408;
                return new Answer(passed ? "ok" : "", "", "", retryAfterMs, 0);
            }
            String limit = first("\"quota_limit\"\\s*:\\s*\"([^\"]*)\"", text);
            boolean isUser = limit.endsWith("PerUser")
                    || (limit.isEmpty() && !daily && !first("\\b(user)\\b", text).isEmpty());
            boolean isProject = !isUser && (daily || limit.endsWith("PerProject") || text.contains("and limit '")
                    || (status == 403 && !first("^(rate_?limit)", reason).isEmpty()));
            String suffix = first("\\((Mail sending|Forwarding rules)\\)", text);
            String family = isProject ? "" : suffix.toLowerCase().replace(' ', '_');
            boolean inUnits = limit.matches(".*PerMinutePer(User|Project)")
                    && first("\"quota_metric\"\\s*:\\s*\"([^\"]*)\"", text).matches("|.*/(default|total_query_cost)");
            String value = inUnits ? first("\"quota_limit_value\"\\s*:\\s*\"(\\d{1,9})\"", text) : "";
            return new Answer("rate", isProject ? "project" : "account", family, retryAfterMs,
                    value.isEmpty() ? 0 : Long.parseLong(value));
        }

        private static String first(String pattern, String text) {
            Matcher found = Pattern.compile(pattern, Pattern.CASE_INSENSITIVE).matcher(text);
            return found.find() ? found.group(1) : "";
        }

        private static long httpDateMs(String text) {
            try {
                return text == null ? 0
                        : ZonedDateTime.parse(text, DateTimeFormatter.RFC_1123_DATE_TIME).toInstant().toEpochMilli();
            } catch (DateTimeParseException error) {
                return 0;
            }
        }

        private static long isoMs(String text) {
            try {
                return OffsetDateTime.parse(text).toInstant().toEpochMilli();
            } catch (DateTimeParseException error) {
                return 0;
            }
        }
    }
}
