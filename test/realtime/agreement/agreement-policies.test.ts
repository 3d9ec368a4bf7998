/**
 * Policies, roles and claims that change while others write, and several tabs of one account that hold the same questions:
 * whenever a tab is told where it stands, it holds what the log says, as far as rights in force a moment ago show it, never
 * older ones again; events are told once, in order, cut by those rights, and by no older claims than the tab knows of; and
 * in the end each tab holds exactly what a list would show it.
 * MILLRACE_LONG=1 makes 2,000 runs, MILLRACE_RUNS as many as it says, MILLRACE_SEED repeats one.
 */
import { setTimeout as pause } from 'node:timers/promises';
import t from 'tap';
import { ACCESS_MS } from '../../../src/auth/tokens/access-tokens.ts';
import { ask, signIn, signInOwner, signUp } from '../../helpers/accounts.ts';
import { markLog, rowsBehind } from '../../helpers/events/log-rows.ts';
import { LogModel } from '../../helpers/live/live-model.ts';
import { withPolicies } from '../../helpers/policies.ts';
import { Random, runCount } from '../../helpers/random.ts';
import { until } from '../../helpers/until.ts';
import { ChangingRights, PROBES } from './changing-rights.ts';
import { EventTab } from './event-tab.ts';
import { Judge } from './judge.ts';
import { type Asked, LiveClient } from './live-client.ts';
import { randomDocument, randomQuestion } from './random-values.ts';
import { randomWrite } from './random-writes.ts';
import { disagreement, playRuns, REFUSED, startServer } from './runs.ts';

const RUNS = runCount(6, 2_000);
const WRITES = 12;
const QUESTIONS = 3;
const CHANGES = 5;
const TABS = 3;
/** Changed policies hold within a second, which is measured elsewhere; a machine under load may need longer. */
const GRACE_MS = 5_000;
/** What a question ends with that may not be asked any more. */
const HIDDEN = /field-hidden|policy-revoked|forbidden/;

t.setTimeout(120_000 + RUNS * 3_000);
t.test('clients agree with the log and with lists under changing policies', async (t) => {
  const { app, parts, tail, url } = await startServer(t);
  let ann = await signUp(app, 'ann');
  let boss = await signInOwner(app, parts);
  let signedIn = performance.now();
  const counts = { compared: 0, drawn: 0, ahead: 0, unknown: 0, ended: 0, resets: 0, again: 0, events: 0, accounts: 0 };
  const arrived = new Map<number, number>();
  tail.attach({ rows: (rows) => rows.forEach(({ number }) => void arrived.set(number, performance.now())) });
  const rights = new ChangingRights({
    graceMs: GRACE_MS,
    putPolicies: (policies) => withPolicies(parts, policies),
    putAccount: async (account) => {
      counts.accounts += 1;
      const answer = await ask(app, `PATCH /admin/users/${ann.id}`, account, boss);
      if (answer.statusCode !== 200) throw new Error(answer.body);
    },
  });

  await playRuns(t, RUNS, play);
  t.comment(JSON.stringify(counts));
  t.ok(counts.compared > RUNS * QUESTIONS);
  t.ok(counts.ahead <= counts.compared / 4, 'few snapshots are ahead');

  async function play(random: Random, name: string): Promise<string | null> {
    await signInAgain();
    const from = tail.position.number;
    rights.begin(random, name);
    await rights.changeAccount(random);
    const payload = Array.from({ length: 1 + random.below(30) }, () => randomDocument(random));
    await app.inject({ method: 'POST', url: `/api/${name}`, payload });
    const questions = Array.from({ length: QUESTIONS }, () => randomQuestion(random));
    const options = { url, collection: name, token: ann.accessToken };
    const clients = Array.from({ length: TABS }, () => new LiveClient(t, { ...options, questions, forgets: true }));
    const tabs = Array.from({ length: TABS }, () => new EventTab(t, options));
    await Promise.all([...clients, ...tabs].map((one) => one.open()));
    for (const client of clients) for (const asked of client.asked) client.begin(asked);
    const isReached = (number: number) => [...clients, ...tabs].every((one) => one.reached(number));
    const written = new Random(random.next());
    const writing = (async () => {
      for (let done = 0; done < WRITES; done++) await randomWrite(written, { app, name, data: parts.mongo.data });
    })();
    for (let made = 0; made < CHANGES; made++) {
      // What is live is told the difference; what is not begins anew.
      if (random.once(2)) await until(() => isReached(0), 'all know where they stand');
      await pause(random.below(80));
      if (random.once(2)) rights.changePolicies(random, name);
      else await rights.changeAccount(random);
      if (random.once(2)) await known(tabs);
      for (const client of clients) {
        for (const asked of client.asked) if (asked.state.ended) askAgain(client, asked);
      }
      for (const tab of tabs) if (tab.ended) tab.begin();
    }
    await writing;
    await known(tabs);
    for (let more = 0; more < WRITES / 4; more++) {
      await randomWrite(written, { app, name, data: parts.mongo.data });
    }
    const last = await markLog(app, tail);
    await until(() => isReached(last), `all stand behind row ${last}`).catch((error: unknown) => {
      throw new Error(`${error}\n${[...clients, ...tabs].map((one) => one.stand()).join('\n')}`);
    });
    // The newest rights hold within a second, without more news.
    const faults = new Map<Asked, string | null>();
    for (const client of clients) {
      for (const asked of client.asked) faults.set(asked, await ends(client, asked, name));
    }
    for (const one of [...clients, ...tabs]) one.close();

    const rows = (await rowsBehind(tail, from)).filter((row) => row.collection === name);
    const timed = rows.map((row) => ({ row, at: arrived.get(row.number) ?? 0 }));
    for (const tab of tabs) {
      const fault = tab.fault(timed, rights.views, GRACE_MS, () => (counts.events += 1));
      if (fault !== null) return fault;
    }
    const judge = new Judge(new LogModel(rows), counts);
    for (const asked of clients.flatMap((client) => client.asked)) {
      const { question, state } = asked;
      const odd = state.faults.find((fault) => !HIDDEN.test(fault) && !REFUSED.test(fault));
      const fault = odd ?? judge.fault(question, state.checks, rights.views) ?? faults.get(asked) ?? null;
      if (fault !== null) return `${JSON.stringify(question)}: ${fault}`;
      counts.resets += state.resets;
      counts.ended += Number(state.ended);
    }
    return null;
  }

  /** Many runs take longer than a token is good for. */
  async function signInAgain(): Promise<void> {
    if (performance.now() - signedIn < ACCESS_MS / 2) return;
    ann = await signIn(app, 'ann');
    boss = await signIn(app, 'owner@example.org');
    signedIn = performance.now();
  }

  /** Resolves when every tab has been told by a probe that the newest version of the account is in force for it. */
  async function known(tabs: readonly EventTab[]): Promise<void> {
    const { version } = rights;
    const probe = async () => {
      await parts.mongo.data.collection(PROBES).insertOne({ version });
      return tabs.every((tab) => tab.version >= version);
    };
    await until(probe, `every tab has version ${version} of its account`, 2 * GRACE_MS);
  }

  function askAgain(client: LiveClient, asked: Asked): void {
    counts.again += 1;
    asked.state.again();
    client.begin(asked);
  }

  /**
   * Whether what is held in the end is what a list shows; a question that a list refuses has ended, or holds nothing where
   * the list is refused for a claim that is missing.
   */
  async function ends(client: LiveClient, asked: Asked, name: string): Promise<string | null> {
    const { question, state } = asked;
    const url = `/api/${name}/_query`;
    const answer = await app.inject({ method: 'POST', url, payload: question, headers: ann.headers });
    if (REFUSED.test(answer.body)) return null;
    if (answer.statusCode === 403) {
      const waits = /values that you do not have/.test(answer.json().hint);
      const is = () => state.ended || (waits && state.live && state.documents.size === 0);
      await until(is, 'the end', GRACE_MS).catch(() => undefined);
      return is() ? null : 'goes on where a list is refused';
    }
    if (answer.statusCode !== 200) return answer.body;
    // Refused by policies that were in force when it was asked, and are no more.
    if (state.ended) askAgain(client, asked);
    const fault = () => (state.live ? disagreement(state.documents.values(), answer.json()) : 'is not live');
    await until(() => fault() === null, 'agreement', GRACE_MS).catch(() => undefined);
    return fault() && `${fault()}\n${state.faults}`;
  }
});
