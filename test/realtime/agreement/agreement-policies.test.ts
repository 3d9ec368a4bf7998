/**
 * Policies, roles and claims change during writes, and several tabs of one user hold the same queries: whenever a tab
 * receives a position, it holds what the log says, as far as recently active rights allow it, never older ones again;
 * events arrive once, in order, redacted by those rights, and by no older claims than the tab knows of; and in the end
 * each tab holds exactly what a list returns. MILLRACE_LONG=1 runs 2,000 times, MILLRACE_RUNS sets the number,
 * MILLRACE_SEED repeats one.
 */
import { setTimeout as pause } from 'node:timers/promises';
import t from 'tap';
import { ACCESS_TOKEN_LIFETIME_MS } from '../../../src/auth/tokens/access-tokens.ts';
import { markLog, rowsBehind } from '../../helpers/events/log-rows.ts';
import { LogModel } from '../../helpers/live/live-model.ts';
import { withPolicies } from '../../helpers/policies.ts';
import { Random, runCount } from '../../helpers/random.ts';
import { until } from '../../helpers/until.ts';
import { ask, signIn, signInAdmin, signUp } from '../../helpers/users.ts';
import { ChangingRights, PROBES } from './changing-rights.ts';
import { EventTab } from './event-tab.ts';
import { Judge } from './judge.ts';
import { LiveClient, type Requested } from './live-client.ts';
import { randomDocument, randomQuery } from './random-values.ts';
import { randomWrite } from './random-writes.ts';
import { disagreement, playRuns, REFUSED, startServer } from './runs.ts';

const RUNS = runCount(6, 2_000);
const WRITES = 12;
const QUERIES = 3;
const CHANGES = 5;
const TABS = 3;
/** Changed policies apply within a second, which is measured elsewhere; a machine under load may need longer. */
const GRACE_MS = 5_000;
/** The error that ends a query that is no longer allowed. */
const HIDDEN = /field-hidden|policy-revoked|forbidden/;

t.setTimeout(120_000 + RUNS * 3_000);
t.test('clients agree with the log and with lists under changing policies', async (t) => {
  const { app, parts: services, tail, url } = await startServer(t);
  let ann = await signUp(app, 'ann');
  let boss = await signInAdmin(app, services);
  let signedIn = performance.now();
  const counts = { compared: 0, drawn: 0, ahead: 0, unknown: 0, ended: 0, resets: 0, again: 0, events: 0, accounts: 0 };
  const arrived = new Map<number, number>();
  tail.attach({ rows: (rows) => rows.forEach(({ number }) => void arrived.set(number, performance.now())) });
  const rights = new ChangingRights({
    graceMs: GRACE_MS,
    putPolicies: (policies) => withPolicies(services, policies),
    putAccount: async (user) => {
      counts.accounts += 1;
      const response = await ask(app, `PATCH /admin/users/${ann.id}`, user, boss);
      if (response.statusCode !== 200) throw new Error(response.body);
    },
  });

  await playRuns(t, RUNS, play);
  t.comment(JSON.stringify(counts));
  t.ok(counts.compared > RUNS * QUERIES);
  t.ok(counts.ahead <= counts.compared / 4, 'few snapshots are ahead');

  async function play(random: Random, name: string): Promise<string | null> {
    await signInAgain();
    const from = tail.position.number;
    rights.begin(random, name);
    await rights.changeAccount(random);
    const payload = Array.from({ length: 1 + random.below(30) }, () => randomDocument(random));
    await app.inject({ method: 'POST', url: `/api/${name}`, payload });
    const queries = Array.from({ length: QUERIES }, () => randomQuery(random));
    const options = { url, collection: name, token: ann.accessToken };
    const clients = Array.from({ length: TABS }, () => new LiveClient(t, { ...options, queries, forgets: true }));
    const tabs = Array.from({ length: TABS }, () => new EventTab(t, options));
    await Promise.all([...clients, ...tabs].map((one) => one.open()));
    for (const client of clients) for (const requested of client.requested) client.begin(requested);
    const isReached = (number: number) => [...clients, ...tabs].every((one) => one.reached(number));
    const written = new Random(random.next());
    const writing = (async () => {
      for (let done = 0; done < WRITES; done++) await randomWrite(written, { app, name, data: services.mongo.data });
    })();
    for (let created = 0; created < CHANGES; created++) {
      // A live subscription receives the difference; others restart.
      if (random.once(2)) await until(() => isReached(0), 'all have a position');
      await pause(random.below(80));
      if (random.once(2)) rights.changePolicies(random, name);
      else await rights.changeAccount(random);
      if (random.once(2)) await known(tabs);
      for (const client of clients) {
        for (const requested of client.requested) if (requested.state.ended) requestAgain(client, requested);
      }
      for (const tab of tabs) if (tab.ended) tab.begin();
    }
    await writing;
    await known(tabs);
    for (let more = 0; more < WRITES / 4; more++) {
      await randomWrite(written, { app, name, data: services.mongo.data });
    }
    const last = await markLog(app, tail);
    await until(() => isReached(last), `all have received row ${last}`).catch((error: unknown) => {
      throw new Error(`${error}\n${[...clients, ...tabs].map((one) => one.logCursor()).join('\n')}`);
    });
    // The newest rights apply within a second, without further events.
    const issues = new Map<Requested, string | null>();
    for (const client of clients) {
      for (const requested of client.requested) issues.set(requested, await ends(client, requested, name));
    }
    for (const one of [...clients, ...tabs]) one.close();

    const rows = (await rowsBehind(tail, from)).filter((row) => row.collection === name);
    const timed = rows.map((row) => ({ row, at: arrived.get(row.number) ?? 0 }));
    for (const tab of tabs) {
      const issue = tab.issue(timed, rights.views, GRACE_MS, () => (counts.events += 1));
      if (issue !== null) return issue;
    }
    const judge = new Judge(new LogModel(rows), counts);
    for (const requested of clients.flatMap((client) => client.requested)) {
      const { query, state } = requested;
      const odd = state.issues.find((issue) => !HIDDEN.test(issue) && !REFUSED.test(issue));
      const cause = odd ?? judge.issue(query, state.checks, rights.views) ?? issues.get(requested) ?? null;
      if (cause !== null) return `${JSON.stringify(query)}: ${cause}`;
      counts.resets += state.resets;
      counts.ended += Number(state.ended);
    }
    return null;
  }

  /** Many runs take longer than a token is valid. */
  async function signInAgain(): Promise<void> {
    if (performance.now() - signedIn < ACCESS_TOKEN_LIFETIME_MS / 2) return;
    ann = await signIn(app, 'ann');
    boss = await signIn(app, 'owner@example.org');
    signedIn = performance.now();
  }

  /** Resolves when every tab has received a probe that shows that the newest version of the user is active for it. */
  async function known(tabs: readonly EventTab[]): Promise<void> {
    const { version } = rights;
    const probe = async () => {
      await services.mongo.data.collection(PROBES).insertOne({ version });
      return tabs.every((tab) => tab.version >= version);
    };
    await until(probe, `every tab has version ${version} of its user`, 2 * GRACE_MS);
  }

  function requestAgain(client: LiveClient, requested: Requested): void {
    counts.again += 1;
    requested.state.again();
    client.begin(requested);
  }

  /**
   * Whether the final state equals a list; a query that a list rejects has ended, or is empty if the list is rejected
   * for a missing claim.
   */
  async function ends(client: LiveClient, requested: Requested, name: string): Promise<string | null> {
    const { query, state } = requested;
    const url = `/api/${name}/_query`;
    const response = await app.inject({ method: 'POST', url, payload: query, headers: ann.headers });
    if (REFUSED.test(response.body)) return null;
    if (response.statusCode === 403) {
      const waits = /values that you do not have/.test(response.json().hint);
      const is = () => state.ended || (waits && state.live && state.documents.size === 0);
      await until(is, 'the end', GRACE_MS).catch(() => undefined);
      return is() ? null : 'continues where a list is rejected';
    }
    if (response.statusCode !== 200) return response.body;
    // Rejected by policies that were active at the time of the request, and no longer are.
    if (state.ended) requestAgain(client, requested);
    const issue = () => (state.live ? disagreement(state.documents.values(), response.json()) : 'is not live');
    await until(() => issue() === null, 'agreement', GRACE_MS).catch(() => undefined);
    return issue() && `${issue()}\n${state.issues}`;
  }
});
