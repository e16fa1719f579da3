# SPDX-License-Identifier: Apache-2.0
"""The Python example behind lines of JSON: ../consumer.js writes them."""
import json
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1])
import gmailquota  # noqa: E402

quota = None
printing = threading.Lock()


def open_(url, options):
    global quota
    names = {'failOpen': 'fail_open', 'commandTimeoutMs': 'command_timeout_ms'}
    quota = gmailquota.GmailQuota(url, **{names.get(key, key): value for key, value in options.items()})
    return {'costs': gmailquota.COSTS}


def acquire(account, ask):
    ask = {'max_wait_ms' if key == 'maxWaitMs' else key: value for key, value in ask.items()}
    grant = quota.acquire(account, **ask)
    return {'name': grant['name'], 'cost': grant['cost'], 'waitMs': grant['wait_ms'], 'grantUs': grant['grant_us'],
            'degraded': grant['degraded']}


def grant_of(grant):
    return grant and {'name': grant['name'], 'cost': grant['cost'], 'grant_us': grant['grantUs']}


def report(account, status, headers, body, grant=None):
    answer = quota.report(account, status, headers, body, grant_of(grant))
    answer['retryAfterMs'] = answer.pop('retry_after_ms')
    return answer


def refund(grant):
    return {'back': quota.refund(grant_of(grant))}


def work(line):
    request = json.loads(line)
    number, operation = request.pop('id'), request.pop('op')
    before = time.monotonic()
    try:
        answer = {'ok': {'open': open_, 'acquire': acquire, 'report': report, 'refund': refund}[operation](**request)}
    except gmailquota.QuotaRefused as refused:
        answer = {'refusedBy': refused.refused_by, 'retryAfterMs': refused.retry_after_ms}
    except Exception as error:
        answer = {'error': repr(error)}
    answer.update(id=number, tookMs=(time.monotonic() - before) * 1000)
    with printing:
        print(json.dumps(answer), flush=True)


with ThreadPoolExecutor(64) as pool:
    for given in sys.stdin:
        pool.submit(work, given)
