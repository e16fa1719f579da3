// SPDX-License-Identifier: Apache-2.0
// Starts a simulator of the test's own and speaks to its operator's side.
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import gmailPackage from '@googleapis/gmail';
import { OAuth2Client } from 'google-auth-library';

export const topic = 'projects/sim-project/topics/gmail';

export class Simulator {
  static async start() {
    const simulator = new Simulator();
    simulator.process = spawn(process.env.TIDEKEEPER_GOOGLE_SIM, ['--listen', '127.0.0.1:0', '--latency-ms', '0'],
      { stdio: ['ignore', 'pipe', 'inherit'] });
    for await (const line of createInterface({ input: simulator.process.stdout })) {
      simulator.url = line.replace('listening on ', '');
      return simulator;
    }
    throw new Error('the simulator ended before it listened');
  }

  stop() {
    this.process.kill();
  }

  async control(what, body) {
    const response = await fetch(`${this.url}/sim/${what}`,
      body ? { method: 'POST', body: JSON.stringify(body) } : {});
    const answer = await response.json();
    if (!response.ok) throw new Error(answer.error);
    return answer;
  }

  clearFaults() {
    return this.control('faults', { clear: true });
  }

  /** How often the fault that was switched on last has struck. */
  async strikes() {
    const { faults } = await this.control('faults');
    return faults.at(-1).strikes;
  }

  async account(email) {
    const { accounts } = await this.control(`state?account=${encodeURIComponent(email)}`);
    return accounts[0];
  }

  /** A mailbox nobody used before, with Google's own clients set up for it. */
  async mailbox(email, { secret, ...more } = {}) {
    const made = await this.control('accounts', { emails: [email], ...more });
    const client = new OAuth2Client({
      clientId: made.client_id,
      clientSecret: secret ?? made.client_secret,
      endpoints: { oauth2TokenUrl: `${this.url}/token` },
    });
    client.setCredentials({ refresh_token: made.accounts[0].refresh_token });
    const gmail = gmailPackage.gmail({ version: 'v1', auth: client, rootUrl: `${this.url}/` });
    return { client, gmail, users: gmail.users };
  }
}

/** What the promise was rejected with. */
export async function failure(promise) {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  throw new Error('this should have failed');
}
