// SPDX-License-Identifier: Apache-2.0
'use strict';

const { layouts, projectOf } = require('./scene');

// What peers that do not listen to Gmail do under the same fault.
const policies = ['tidekeeper', 'none', 'flexible-union', 'redis-gcra'];
const goalShare = 0.001; // of calls refused

const emails = (count) => Array.from({ length: count }, (_, i) => `mailbox-${i + 1}@example.com`);

/** Runs `begin` once when this second has come. */
function once(second, begin) {
    let begun = false;
    return async (now, google) => {
        if (begun || now < second)
            return;
        begun = true;
        await begin(google);
    };
}

const eachProject = (scene, fault) => (google) =>
    Promise.all(policies.map((policy) => google.fault({ ...fault, project_id: projectOf(scene, policy) })));

/** Gmail locks two of ten busy mailboxes out for a minute, "Retry after …"; an early call starts the minute anew. */
function lockOut(seconds, beginS) {
    const scene = { name: 'lock-out', title: '“Retry after” on 2 of 10 accounts', emails: emails(10),
                    layout: layouts.ten, policies, seconds, seed: 1000 };
    const locked = scene.emails.slice(0, 2);
    scene.during = once(beginS, (google) => Promise.all(locked.map((account) =>
        eachProject(scene, { kind: 'lockout', minutes: 1, account })(google))));
    return scene;
}

/** Gmail takes 4 s for each call, so that sixteen programs on a mailbox have more than ten calls in flight. */
function concurrency(seconds, beginS) {
    const scene = { name: 'concurrency', title: 'calls of 4 s, 16 consumers per account', emails: emails(3),
                    layout: layouts.sixteen, sizes: { threads: 1, messages: 1, burst: 1 }, policies, seconds,
                    seed: 2000 };
    scene.during = once(beginS, eachProject(scene, { kind: 'slow', ms: 4000 }));
    return scene;
}

/** Google allows the project a twelfth of what it did; its accounts ask for three times as much. */
function projectLimit(seconds, beginS) {
    const scene = { name: 'project-limit', title: 'project limit lowered to 100,000, 50 accounts', emails: emails(50),
                    layout: layouts.four, policies, seconds, seed: 3000 };
    scene.during = once(beginS, eachProject(scene, { kind: 'project_limit', value: 100_000 }));
    return scene;
}

const faultScenes = (seconds, beginS) => [lockOut, concurrency, projectLimit].map((make) => make(seconds, beginS));

module.exports = { faultScenes, goalShare };
