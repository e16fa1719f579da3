#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes expected.tsv: when patterns fire in zones, from 2025 to 2027, told without the engine's code.

    python3 tests/unit/core/cron/expected.py > tests/unit/core/cron/expected.tsv

Local times go the other way round than in the engine: each day's wall-clock times are turned into instants by
zoneinfo (PEP 495: fold=0 is the first pass; a time that does not come back from UTC lies in a gap). Rhythms are
found by reading the wall clock at every step of UTC. Both use the system's zone data; where a country changes its
rules, make the file again and read what differs.

A line: zone, pattern, from, to (fires after "from", up to and with "to"), and the fires in runs of equal steps:
2025-01-01T05:30:00Z+86400*67 stands for 67 fires, a day apart.
"""
from datetime import date, datetime, time, timedelta, timezone
from zoneinfo import ZoneInfo

ZONES = ["America/New_York", "Europe/Zurich", "Africa/Cairo", "America/Santiago", "Australia/Lord_Howe",
         "Asia/Seoul", "UTC"]
HOUR = 3600
FROM = int(datetime(2024, 12, 30, tzinfo=timezone.utc).timestamp())
TO = int(datetime(2028, 3, 2, tzinfo=timezone.utc).timestamp())
YEARS = [int(datetime(year, 1, 1, tzinfo=timezone.utc).timestamp()) for year in (2025, 2026, 2027)]

# pattern: (hours, minutes, seconds, which days, whether it is a rhythm, whether only around changes and new years)
EVERY = range(60)
DAILY = lambda day: True
PATTERNS = {
    "0 * * * *": (range(24), [0], [0], DAILY, True, False),
    "*/15 * * * * *": (range(24), EVERY, range(0, 60, 15), DAILY, True, True),
    "0 */2 * * *": (range(0, 24, 2), [0], [0], DAILY, False, False),
    "*/20 1 * * *": ([1], [0, 20, 40], [0], DAILY, False, True),
    "0 9-17 * * *": (range(9, 18), [0], [0], DAILY, False, True),
    "0 0 * * *": ([0], [0], [0], DAILY, False, False),
    "30 0 * * *": ([0], [30], [0], DAILY, False, False),
    "30 1 * * *": ([1], [30], [0], DAILY, False, False),
    "30 2 * * *": ([2], [30], [0], DAILY, False, False),
    "15 2 * * SUN": ([2], [15], [0], lambda day: day.isoweekday() == 7, False, False),
    "0 0 29 2 *": ([0], [0], [0], lambda day: (day.month, day.day) == (2, 29), False, False),
    "59 59 23 31 12 *": ([23], [59], [59], lambda day: (day.month, day.day) == (12, 31), False, False),
    "0 0 L * *": ([0], [0], [0], lambda day: (day + timedelta(1)).day == 1, False, False),
}


def offset(zone, instant):
    return int(datetime.fromtimestamp(instant, zone).utcoffset().total_seconds())


def changes(zone):
    found = []
    for hour in range(FROM, TO, HOUR):
        if offset(zone, hour) != offset(zone, hour + HOUR):
            low, high = hour, hour + HOUR  # offset changes in (low, high]
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (middle, high) if offset(zone, middle) == offset(zone, low) else (low, middle)
            found.append(high)
    return found


def instant_of(zone, gaps, wall):
    """The first pass of a wall-clock time, or the end of the gap that swallowed it."""
    instant = int(wall.replace(tzinfo=zone, fold=0).timestamp())
    if datetime.fromtimestamp(instant, zone).replace(tzinfo=None) == wall:
        return instant
    return max(end for end in gaps if end <= instant)


def local_fires(zone, gaps, hours, minutes, seconds, days):
    fires = set()
    day = date(2024, 12, 28)
    while day < date(2028, 3, 4):
        if days(day):
            fires.update(instant_of(zone, gaps, datetime.combine(day, time(h, m, s)))
                         for h in hours for m in minutes for s in seconds)
        day += timedelta(1)
    return fires


def rhythm_fires(zone, windows, hours, minutes, seconds, days):
    step = 15 if len(list(seconds)) > 1 else 60
    for begin, end in windows:
        for instant in range(begin, end + 1, step):
            wall = datetime.fromtimestamp(instant, zone)
            if wall.hour in hours and wall.minute in minutes and wall.second in seconds and days(wall.date()):
                yield instant


def iso(instant):
    return datetime.fromtimestamp(instant, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def runs(fires):
    texts, i = [], 0
    while i < len(fires):
        j = i + 1
        while j + 1 < len(fires) and fires[j + 1] - fires[j] == fires[i + 1] - fires[i]:
            j += 1
        if j - i >= 2:
            texts.append(f"{iso(fires[i])}+{fires[i + 1] - fires[i]}*{j - i + 1}")
            i = j + 1
        else:
            texts.append(iso(fires[i]))
            i += 1
    return " ".join(texts)


def main():
    for name in ZONES:
        zone = ZoneInfo(name)
        at = changes(zone)
        for pattern, (hours, minutes, seconds, days, is_rhythm, around) in PATTERNS.items():
            margin = 3 * HOUR if "15 *" in pattern else 48 * HOUR
            windows = [(c - margin, c + margin) for c in sorted(at + YEARS)] if around else [(FROM, TO)]
            if is_rhythm:
                fires = sorted(rhythm_fires(zone, windows, hours, minutes, seconds, days))
            else:
                fires = sorted(local_fires(zone, at, hours, minutes, seconds, days))
            for begin, end in windows:
                inside = [fire for fire in fires if begin < fire <= end]
                print(name, pattern, iso(begin), iso(end), runs(inside), sep="\t")


if __name__ == "__main__":
    main()
