/**
 * What an owner sets up before the torture: policies, a key, and endpoints of the owner and of the key. Over HTTP, as owners
 * do it. Not here: what the endpoints must get (checker.ts).
 */
import { writeFileSync } from 'node:fs';
import type { Mongo } from '../../../src/database/mongo.ts';
import { OPEN_ID } from '../../../src/policies/policy-set.ts';
import { until } from '../../helpers/until.ts';
import type { AskedEndpoint } from './checker.ts';
import { TODOS } from './writers.ts';

const EMAIL = 'boss@example.org';
const PASSWORD = 'four wooden ships sail';
const WRITERS = { actions: ['read', 'create', 'update', 'delete'], principals: { anonymous: true } };

interface Wanted extends Omit<AskedEndpoint, 'from'> {
  readonly by: 'owner' | 'key';
}

const WANTED: readonly Wanted[] = [
  { name: 'all', by: 'owner', least: null, team: null, ordered: false },
  { name: 'ordered', by: 'owner', least: null, team: null, ordered: true },
  { name: 'least', by: 'owner', least: 60, team: null, ordered: false },
  { name: 'red', by: 'key', least: null, team: 'red', ordered: false },
  { name: 'red-ordered', by: 'key', least: 30, team: 'red', ordered: true },
];

export class Installation {
  /** Settings of the servers. */
  readonly env: Readonly<Record<string, string>>;

  /** Proves the owner. */
  #owner = '';

  constructor(folder: string) {
    const file = `${folder}/password`;
    writeFileSync(file, PASSWORD);
    this.env = { MILLRACE_OWNER_EMAIL: EMAIL, MILLRACE_OWNER_PASSWORD_FILE: file };
  }

  /** Whether a server records, and so plans. */
  async records(server: string): Promise<boolean> {
    const signal = AbortSignal.timeout(1_000);
    const response = await fetch(`${server}/readyz`, { headers: { authorization: this.#owner }, signal });
    return (await response.text()).includes('"recorder":"recording"');
  }

  /** Makes the endpoints. @returns what the checker must know of them */
  async makeEndpoints(server: string, receiver: string, mongo: Mongo): Promise<AskedEndpoint[]> {
    const { accessToken } = await send(server, '/auth/login', { username: EMAIL, password: PASSWORD });
    const owner = `Bearer ${accessToken}`;
    this.#owner = owner;
    const { id, key } = await send(server, '/admin/keys', { name: 'reader' }, owner);
    const keys = { principals: { keys: [id] } };
    const all = ['read', 'create', 'update', 'delete'];
    const reads = { where: { team: 'red' }, fields: { read: ['*', '-secret'] } };
    const policies = [
      { name: 'Writers', collections: [TODOS], ...WRITERS },
      { name: 'Readers', collections: [TODOS], actions: ['read'], ...reads, ...keys },
      { name: 'Endpoints', collections: ['webhooks'], actions: all, ...keys },
    ];
    const headers = { authorization: owner };
    const closed = await fetch(`${server}/admin/policies/${OPEN_ID}`, { method: 'DELETE', headers });
    if (!closed.ok) throw new Error(`The open policy stays: ${closed.status}`);
    for (const policy of policies) await send(server, '/admin/policies', { effect: 'allow', ...policy }, owner);
    // The collection keeps images from its first document on.
    await send(server, `/api/${TODOS}`, { id: 'first' });
    const made: AskedEndpoint[] = [];
    for (const { by, ...wanted } of WANTED) {
      const { name, least, ordered } = wanted;
      const body = {
        url: `${receiver}/${name}`,
        types: [`${TODOS}.*`],
        ...(least === null ? {} : { filter: { n: { $gte: least } } }),
        ordering: ordered ? 'document' : 'none',
      };
      const { id: endpoint } = await send(
        server,
        '/webhooks/endpoints',
        body,
        by === 'owner' ? owner : `Bearer ${key}`,
      );
      made.push({ ...wanted, from: await rowOf(endpoint, mongo) });
    }
    return made;
  }
}

/** The number of the row by which an endpoint was made. */
async function rowOf(endpoint: string | undefined, mongo: Mongo): Promise<number> {
  let number: number | null = null;
  await until(async () => {
    const row = await mongo.log.collection('log').findOne({ c: '_endpoints', op: 'insert', 'k._id': endpoint });
    number = row && Number(row['_id']);
    return row !== null;
  }, 'the endpoint is in the log');
  return number ?? 0;
}

async function send(
  server: string,
  path: string,
  body: object,
  authorization?: string,
): Promise<Record<string, string>> {
  const headers = { 'content-type': 'application/json', ...(authorization === undefined ? {} : { authorization }) };
  const response = await fetch(`${server}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
  const text = await response.text();
  if (!response.ok) throw new Error(`${path} answered ${response.status}: ${text}`);
  return JSON.parse(text);
}
