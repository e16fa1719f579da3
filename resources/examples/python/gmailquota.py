# SPDX-License-Identifier: Apache-2.0
"""Units of Gmail's quota from the buckets that Tidekeeper keeps in Redis. Copy this file; ../README.md explains it.

For threads; Python 3.9 and redis-py 4.3 or later.
"""
import base64
import json
import math
import re
import threading
import time
from collections import OrderedDict
from datetime import datetime
from email.utils import parsedate_to_datetime

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

# By Google's table of May 2026. For projects of before that, and for other methods, give `cost`.
COSTS = {
    'getProfile': 1, 'history.list': 2, 'watch': 100, 'stop': 50, 'labels.list': 1, 'labels.get': 1, 'messages.list': 5,
    'messages.get': 20, 'messages.attachments.get': 20, 'messages.modify': 5, 'messages.batchModify': 50,
    'messages.trash': 20, 'messages.delete': 10, 'messages.insert': 25, 'messages.send': 100, 'threads.list': 10,
    'threads.get': 40, 'threads.modify': 10, 'threads.trash': 20, 'drafts.create': 10, 'drafts.get': 20,
    'drafts.list': 5, 'drafts.update': 15, 'drafts.send': 100,
}
LIMIT_FIELDS = ('capacity_milli', 'refill_per_minute', 'reserve_milli')
MOST_BUCKETS = 10_000  # remembered for the time without Redis
LOWER = {letter: letter + 32 for letter in range(ord('A'), ord('Z') + 1)}  # A to Z and nothing else


def key_name(account):
    return base64.urlsafe_b64encode(account.strip().translate(LOWER).encode()).decode().rstrip('=')


def now_ms():
    return time.monotonic() * 1000


class QuotaRefused(Exception):
    """Do not call Gmail now: run the job again after retry_after_ms. -1: never, no grant is ever that large."""

    def __init__(self, refused_by, retry_after_ms, text=''):
        super().__init__(f'Gmail quota refused by {refused_by} {text}'.strip())
        self.refused_by, self.retry_after_ms = refused_by, retry_after_ms


class GmailQuota:
    def __init__(self, url, project='default', fail_open=True, share=1, command_timeout_ms=100):
        """share: of the limits, for this process while Redis is away: 1 / number of processes."""
        self.prefix, self.fail_open, self.share = f'tk:{{gmail:{project}}}:', fail_open, share
        self.timeout_ms, self.server_us, self.ask_again_at, self.read_at = command_timeout_ms, None, 0, -math.inf
        self.limits = {'account': [360_000, 5450, 180_000], 'project': [72e6, 1_090_000, 14.4e6]}  # until they are read
        self.buckets, self.lock = OrderedDict(), threading.RLock()
        # No retries: what may have been executed must not be sent again.
        self.redis = redis.Redis.from_url(url, socket_connect_timeout=.5, socket_timeout=command_timeout_ms / 1000,
                                          retry=Retry(NoBackoff(), 0), decode_responses=True)

    def acquire(self, account, method=None, count=1, cost=None, lane='realtime', max_wait_ms=0):
        """Returns when Gmail may be called, within the next 2 s; else raises QuotaRefused.

        method: without gmail.users."""
        if cost is None and method in COSTS:
            cost = COSTS[method] * count
        if type(cost) is not int or cost < 0:
            raise ValueError(f'The cost of {method} is not known: give cost, a whole number of units.')
        ask = {'name': key_name(account), 'lane': lane,
               'family': 'mail_sending' if method in ('messages.send', 'drafts.send') else ''}
        grant = self._decide(**ask, cost=cost, max_wait_ms=max_wait_ms)
        time.sleep(grant['wait_ms'] / 1000)
        if grant['wait_ms'] > 1000:  # Gmail may have refused a call meanwhile: a freeze makes the booking void
            try:
                self._decide(**ask, cost=0, max_wait_ms=0)
            except QuotaRefused:
                self.refund(grant)
                raise
        return grant

    def report(self, account, status, headers, body, grant=None):
        """Says what Gmail answered, so that a refusal pauses everybody: rate, scope, family, retry_after_ms."""
        answer, name, grant = meaning_of(status, headers, body), key_name(account), grant or {}
        verdict, told_limit, rate = answer.pop('verdict'), answer.pop('told_limit'), answer['rate']
        try:
            told = verdict and self._call(
                'report', self._keys(name), verdict, answer['scope'], answer['family'], answer['retry_after_ms'],
                grant.get('grant_us', 0), grant.get('cost', 0), told_limit)
            answer['retry_after_ms'] = told[2] if rate else answer['retry_after_ms']
        except QuotaRefused as error:
            only_away(error)
            answer['retry_after_ms'] = answer['retry_after_ms'] or (1000 if rate else 0)
        if rate and not answer['family']:
            self._freeze(name if answer['scope'] == 'account' else '', answer['retry_after_ms'])
        return answer

    def refund(self, grant):
        """Gives back what was not sent, within 60 s: whether it was. Without Redis nothing comes back."""
        name, cost, grant_us = grant['name'], grant['cost'], grant['grant_us']
        try:
            keys = [*self._keys(name), f'{self.prefix}id:{name}:.{grant_us}']
            return bool(grant_us) and self._call('refund', keys, cost, grant_us)[0] == 1
        except QuotaRefused as error:
            return only_away(error)

    def _decide(self, **ask):
        with self.lock:
            now = now_ms()
            is_away = now < self.ask_again_at
            if self.ask_again_at and not is_away:
                self.ask_again_at = now + 1000  # of those who call while Redis is away one a second tries it
        if not is_away:
            try:
                return self._decide_in_redis(ask)
            except QuotaRefused as error:
                only_away(error)
                self.ask_again_at = now_ms() + 1000
        with self.lock:
            return self._decide_alone(**ask)

    def _decide_in_redis(self, ask, is_second=False):
        name, cost = ask['name'], ask['cost']
        self._read_limits()
        self._settle(name)
        sent = now_ms()
        # Later than this the call has been given up, and must not be charged.
        deadline_us = '' if self.server_us is None else math.ceil(self.server_us + (sent + self.timeout_ms) * 1000)
        granted, wait_ms, retry_after_ms, refused_by, account_level, _, project_level, _, grant_us = self._call(
            'acquire', self._keys(name), cost, ask['lane'], ask['max_wait_ms'], deadline_us, ask['family'])
        with self.lock:
            self.ask_again_at = 0
            self.server_us = grant_us - sent * 1000
            self._bucket(name)['level'] = account_level * self.share
            self._bucket('')['level'] = project_level * self.share
        if refused_by.endswith('_frozen'):
            self._freeze(name if refused_by == 'account_frozen' else '', retry_after_ms)
        if refused_by == 'late' and not is_second:  # the server's clock was set
            return self._decide_in_redis(ask, True)
        if not granted:
            raise QuotaRefused(refused_by, retry_after_ms)
        return {'name': name, 'cost': cost, 'wait_ms': wait_ms, 'grant_us': grant_us, 'degraded': False}

    def _decide_alone(self, name, cost, lane, max_wait_ms, family):
        """While Redis is away: by the same buckets in this process, in milli-units."""
        if not self.fail_open:
            raise QuotaRefused('unavailable', 1000)
        account, project = self._bucket(name), self._bucket('')
        frozen_ms = math.ceil(max(account['frozen_until'], project['frozen_until']) - now_ms())
        if frozen_ms > 0:
            is_account = account['frozen_until'] > project['frozen_until']
            raise QuotaRefused('account_frozen' if is_account else 'project_frozen', frozen_ms)

        def wait_ms_of(bucket):
            floor = bucket['reserve'] if lane == 'bulk' else 0
            most = bucket['capacity'] - floor
            if cost * 1000 * self.share > most:
                raise QuotaRefused('never', -1)
            needed = min(cost * 1000, most) + floor - bucket['level']
            return math.ceil(needed / bucket['per_ms']) if cost > 0 and needed > 0 else 0

        account_ms, project_ms = wait_ms_of(account), wait_ms_of(project)
        longest_ms = min(max_wait_ms, account['reserve'] / 2 / account['per_ms']) if lane == 'bulk' else max_wait_ms
        if project_ms > 0:
            raise QuotaRefused('project', project_ms)
        if account_ms > longest_ms:
            raise QuotaRefused('account', math.ceil(account_ms - longest_ms))
        account['level'] -= cost * 1000
        project['level'] -= cost * 1000
        account['owed'] += cost * 1000
        return {'name': name, 'cost': cost, 'wait_ms': account_ms, 'grant_us': 0, 'degraded': True}

    def _bucket(self, name):
        """A bucket as it is now; that of the project has no name. The lock is held."""
        capacity, per_minute, reserve = (n * self.share for n in self.limits['account' if name else 'project'])
        now, per_ms = now_ms(), per_minute / 60
        known = self.buckets.setdefault(name, {'level': capacity, 'at': now, 'owed': 0, 'frozen_until': 0})
        level = min(capacity, known['level'] + (now - known['at']) * per_ms)
        known.update(capacity=capacity, reserve=reserve, per_ms=per_ms, level=level, at=now)
        self.buckets.move_to_end(name)  # the least used one goes first
        if len(self.buckets) > MOST_BUCKETS:
            self.buckets.popitem(last=False)
        return known

    def _freeze(self, name, ms):
        with self.lock:
            self._bucket(name)['frozen_until'] = now_ms() + ms

    def _settle(self, name):
        """Tells Redis what was granted while it was away."""
        with self.lock:
            bucket = self._bucket(name)
            owed = math.ceil(min(bucket['owed'], bucket['capacity'] - bucket['level']))  # the rest has refilled
            bucket['owed'] = 0
        if owed > 0:
            try:
                self._call('settle', self._keys(name), owed, owed)
            except QuotaRefused:
                bucket['owed'] += owed
                raise

    def _read_limits(self):
        if now_ms() < self.read_at + 10_000:
            return
        self.read_at = now_ms()
        for scope in self.limits:
            try:
                values = self.redis.hmget(self.prefix + 'policy', [f'{scope}_{field}' for field in LIMIT_FIELDS])
            except redis.RedisError:
                return
            if all(values):
                self.limits[scope] = [int(value) for value in values]

    def _keys(self, name):
        return [f'{self.prefix}account:{name}', f'{self.prefix}project', f'{self.prefix}policy']

    def _call(self, name, keys, *args):
        try:
            return self.redis.execute_command('FCALL', f'tidekeeper_{name}_v1', len(keys), *keys, *args)
        except redis.RedisError as error:
            text = str(error)
            if text.startswith('TKARG'):
                raise ValueError(text) from None
            # Somebody has to mend these; waiting for Redis does not.
            is_fault = isinstance(error, (redis.AuthenticationError, redis.exceptions.NoPermissionError)) or re.search(
                '^TKPOLICY|Function not found|user executing the script', text)
            raise QuotaRefused('not_published' if is_fault else 'unavailable', 1000, f'({text})') from None


def only_away(error):
    if error.refused_by != 'unavailable':
        raise error
    return False


def epoch_ms(text):
    for read in (parsedate_to_datetime, lambda iso: datetime.fromisoformat(re.sub('Z$', '+00:00', iso))):
        try:
            return read(text).timestamp() * 1000
        except (TypeError, ValueError):
            pass
    return 0


def meaning_of(status, headers, body):
    """What an answer of Gmail says about the rate. The reason decides, which comes with 403 or 429."""
    text = body.decode(errors='replace') if isinstance(body, bytes) else body
    text = text if isinstance(text, str) else json.dumps(text)
    header = {key.lower(): str(value) for key, value in dict(headers or {}).items()}.get

    def first(pattern):
        found = re.search(pattern, text, re.IGNORECASE)
        return found[1] if found else ''

    reason = first('"(user_?rate_?limit_?exceeded|rate_?limit_?exceeded|quotaExceeded|dailyLimitExceeded)"')
    is_rate = 400 <= status < 500 and (
        status == 429 or bool(reason or first('(rate limit exceeded|quota exceeded for quota metric)')))
    daily = is_rate and first('(dailyLimitExceeded|PerDay|per day)')
    now = epoch_ms(header('date', '')) or time.time() * 1000  # theirs, so that our clock may be off
    after = header('retry-after', '')
    hints = (epoch_ms(first(r'Retry after\s+([\dT:.Z+-]+)')) - now,
             float(after) * 1000 if re.fullmatch(r'\d{1,9}(\.\d+)?', after) else epoch_ms(after) - now)
    hint_ms = 3_600_000 if daily else next((ms for ms in hints if ms > 0), 0)  # an hour: is the day over?
    retry_after_ms = math.ceil(min(max(hint_ms, 1000), 86_400_000)) if hint_ms and status >= 400 else 0
    if not is_rate:  # a failure of Gmail's own or a refused token says nothing about the rate
        verdict = 'ok' if status < 500 and status not in (401, 403, 408) else ''
        return dict(verdict=verdict, rate=False, scope='', family='', retry_after_ms=retry_after_ms, told_limit=0)
    limit = first('"quota_limit"\\s*:\\s*"([^"]*)"')
    is_user = limit.endswith('PerUser') or (not limit and not daily and bool(first(r'\b(user)\b')))
    is_project = not is_user and bool(daily or limit.endswith('PerProject') or "and limit '" in text
                                      or (status == 403 and re.match('rate_?limit', reason, re.IGNORECASE)))
    family = '' if is_project else first(r'\((Mail sending|Forwarding rules)\)').lower().replace(' ', '_')
    in_units = re.search('PerMinutePer(User|Project)$', limit) and re.search(
        '^$|/(default|total_query_cost)$', first('"quota_metric"\\s*:\\s*"([^"]*)"'))
    told_limit = int(first('"quota_limit_value"\\s*:\\s*"(\\d{1,9})"') or 0) if in_units else 0
    return dict(verdict='rate', rate=True, scope='project' if is_project else 'account', family=family,
                retry_after_ms=retry_after_ms, told_limit=told_limit)
