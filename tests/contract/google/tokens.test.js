// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { Gaxios } from 'gaxios';
import { JWT } from 'google-auth-library';
import { failure, Simulator } from './simulator.js';

let simulator;
before(async () => { simulator = await Simulator.start(); });
afterEach(() => simulator.clearFaults());
after(() => simulator.stop());

test('a refresh token gives an access token', async () => {
  const { client } = await simulator.mailbox('refresh@example.com');
  const { token, res } = await client.getAccessToken();
  assert.match(token, /^ya29\./);
  assert.equal(res.data.token_type, 'Bearer');
  assert.ok(client.credentials.expiry_date > Date.now() + 3500 * 1000);
});

test('a revoked grant is an invalid_grant, asked once', async () => {
  const { client } = await simulator.mailbox('revoked@example.com');
  await simulator.control('faults', { kind: 'revoked', account: 'revoked@example.com' });
  const error = await failure(client.getAccessToken());
  assert.equal(error.message, 'invalid_grant');
  assert.equal(error.response.status, 400);
  assert.equal(error.response.data.error_description, 'Token has been expired or revoked.');
  assert.equal(await simulator.strikes(), 1);
});

test('a wrong client secret is an invalid_client', async () => {
  const { client } = await simulator.mailbox('secret@example.com', { secret: 'wrong' });
  const error = await failure(client.getAccessToken());
  assert.equal(error.message, 'invalid_client');
  assert.equal(error.response.status, 401);
});

test('the client retries a server error of the token endpoint', async () => {
  const { client } = await simulator.mailbox('backend@example.com');
  await simulator.control('faults', { kind: 'token_unavailable', times: 2 });
  const { token } = await client.getAccessToken();
  assert.match(token, /^ya29\./);
  assert.equal(await simulator.strikes(), 2);
});

test('a token revoked by its owner ends the access too', async () => {
  const { client, users } = await simulator.mailbox('leaver@example.com');
  await users.getProfile({ userId: 'me' });
  const body = new URLSearchParams({ token: client.credentials.refresh_token });
  assert.equal((await fetch(`${simulator.url}/revoke`, { method: 'POST', body })).status, 200);
  assert.equal((await failure(users.getProfile({ userId: 'me' }))).status, 401);
});

// The client's token URL is fixed; only its transport can be pointed elsewhere. The audience stays Google's.
function redirected() {
  const transporter = new Gaxios();
  transporter.interceptors.request.add({
    resolved: async (options) => {
      options.url = new URL(String(options.url).replace('https://oauth2.googleapis.com', simulator.url));
      return options;
    },
  });
  return transporter;
}

function serviceAccount(file) {
  return new JWT({
    email: file.client_email,
    key: file.private_key,
    scopes: ['https://www.googleapis.com/auth/firebase.messaging'],
    transporter: redirected(),
  });
}

test('a service account signs for its token', async () => {
  const file = await simulator.control('service-accounts', { email: 'good@sim-project.iam.gserviceaccount.com' });
  const { token } = await serviceAccount(file).getAccessToken();
  const response = await fetch(`${simulator.url}/v1/projects/sim-project/messages:send`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ validateOnly: true, message: { topic: 'news' } }),
  });
  assert.equal(response.status, 200);
});

test('a signature of another key is refused', async () => {
  const file = await simulator.control('service-accounts', { email: 'robot@sim-project.iam.gserviceaccount.com' });
  await simulator.control('service-accounts', { email: 'robot@sim-project.iam.gserviceaccount.com' }); // a new key
  const error = await failure(serviceAccount(file).getAccessToken());
  assert.match(error.message, /invalid_grant/);
  assert.equal(error.response.data.error_description, 'Invalid JWT Signature.');
});
