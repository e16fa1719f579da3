// SPDX-License-Identifier: Apache-2.0

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

import org.json.JSONObject;

/** The Java example behind lines of JSON: ../consumer.js writes them. */
public final class Driver {
    private static GmailQuota quota;

    private static JSONObject open(JSONObject request) {
        JSONObject given = request.getJSONObject("options");
        GmailQuota.Options usual = GmailQuota.Options.DEFAULT;
        quota = new GmailQuota(URI.create(request.getString("url")), new GmailQuota.Options(
                given.optString("project", usual.project()), given.optBoolean("failOpen", usual.failOpen()),
                given.optDouble("share", usual.share()), given.optInt("commandTimeoutMs", usual.commandTimeoutMs())));
        return new JSONObject().put("costs", GmailQuota.COSTS);
    }

    private static JSONObject acquire(JSONObject request) throws InterruptedException {
        JSONObject given = request.getJSONObject("ask");
        GmailQuota.Ask ask = given.has("cost") ? GmailQuota.Ask.units(given.getLong("cost"))
                : GmailQuota.Ask.of(given.getString("method"), given.optInt("count", 1));
        ask = given.optString("lane").equals("bulk") ? ask.bulk() : ask;
        GmailQuota.Grant grant = quota.acquire(request.getString("account"), ask.waiting(given.optLong("maxWaitMs")));
        return new JSONObject().put("name", grant.name()).put("cost", grant.cost()).put("waitMs", grant.waitMs())
                .put("grantUs", grant.grantUs()).put("degraded", grant.degraded());
    }

    private static GmailQuota.Grant grantOf(JSONObject request) {
        JSONObject grant = request.optJSONObject("grant");
        return grant == null ? null : new GmailQuota.Grant(grant.getString("name"), grant.getLong("cost"), 0,
                grant.getLong("grantUs"), false);
    }

    private static JSONObject report(JSONObject request) {
        Map<String, String> headers = new TreeMap<>();
        request.getJSONObject("headers").toMap().forEach((name, value) -> headers.put(name, String.valueOf(value)));
        Object body = request.opt("body");
        GmailQuota.Meaning meaning = quota.report(request.getString("account"), request.getInt("status"), headers,
                body == null ? null : body.toString(), grantOf(request));
        return new JSONObject().put("rate", meaning.rate()).put("scope", meaning.scope()).put("family", meaning.family())
                .put("retryAfterMs", meaning.retryAfterMs());
    }

    private static JSONObject work(JSONObject request) {
        long before = System.nanoTime();
        JSONObject answer = new JSONObject();
        try {
            answer.put("ok", switch (request.getString("op")) {
                case "open" -> open(request);
                case "acquire" -> acquire(request);
                case "report" -> report(request);
                default -> new JSONObject().put("back", quota.refund(grantOf(request)));
            });
        } catch (GmailQuota.QuotaRefused refused) {
            answer.put("refusedBy", refused.refusedBy).put("retryAfterMs", refused.retryAfterMs);
        } catch (Exception error) {
            answer.put("error", error.toString());
        }
        return answer.put("id", request.get("id")).put("tookMs", (System.nanoTime() - before) / 1e6);
    }

    public static void main(String[] arguments) throws Exception {
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        ExecutorService pool = Executors.newFixedThreadPool(64);
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            JSONObject request = new JSONObject(line);
            pool.submit(() -> {
                String answer = work(request).toString();
                synchronized (out) {
                    out.println(answer);
                }
            });
        }
        pool.shutdown();
    }
}
