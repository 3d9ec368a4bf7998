/**
 * What an administrator sets up before the test, over HTTP: policies, a key, and endpoints of the administrator and of
 * the key.
 */
import { writeFileSync } from 'node:fs';
import type { Mongo } from '../../../src/database/mongo.ts';
import { ALLOW_ALL_POLICY_ID } from '../../../src/policies/policy-set.ts';
import { until } from '../../helpers/until.ts';
import type { EndpointRequest } from './checker.ts';
import { TODOS } from './writers.ts';

const EMAIL = 'boss@example.org';
const PASSWORD = 'four wooden ships sail';
const WRITERS = { actions: ['read', 'create', 'update', 'delete'], principals: { anonymous: true } };

interface Requested extends Omit<EndpointRequest, 'from'> {
  readonly by: 'owner' | 'key';
}

const REQUESTED: readonly Requested[] = [
  { name: 'all', by: 'owner', least: null, team: null, ordered: false },
  { name: 'ordered', by: 'owner', least: null, team: null, ordered: true },
  { name: 'least', by: 'owner', least: 60, team: null, ordered: false },
  { name: 'red', by: 'key', least: null, team: 'red', ordered: false },
  { name: 'red-ordered', by: 'key', least: 30, team: 'red', ordered: true },
];

export class Installation {
  /** Settings of the servers. */
  readonly env: Readonly<Record<string, string>>;

  /** Authenticates the administrator. */
  #owner = '';

  constructor(folder: string) {
    const file = `${folder}/password`;
    writeFileSync(file, PASSWORD);
    this.env = { MILLRACE_ADMIN_EMAIL: EMAIL, MILLRACE_ADMIN_PASSWORD_FILE: file };
  }

  /** Whether a server records, and so plans. */
  async records(server: string): Promise<boolean> {
    const signal = AbortSignal.timeout(1_000);
    const response = await fetch(`${server}/readyz`, { headers: { authorization: this.#owner }, signal });
    return (await response.text()).includes('"recorder":"recording"');
  }

  /** Creates the endpoints. @returns what the checker must know of them */
  async makeEndpoints(server: string, receiver: string, mongo: Mongo): Promise<EndpointRequest[]> {
    const { accessToken } = await send(server, '/auth/login', { username: EMAIL, password: PASSWORD });
    const owner = `Bearer ${accessToken}`;
    this.#owner = owner;
    const { id, key } = await send(server, '/admin/keys', { name: 'reader' }, owner);
    const keys = { principals: { keys: [id] } };
    const all = ['read', 'create', 'update', 'delete'];
    const reads = { filter: { team: 'red' }, fields: { read: ['*', '-secret'] } };
    const policies = [
      { name: 'Writers', resources: [TODOS], ...WRITERS },
      { name: 'Readers', resources: [TODOS], actions: ['read'], ...reads, ...keys },
      { name: 'Endpoints', resources: ['_webhooks'], actions: all, ...keys },
    ];
    const headers = { authorization: owner };
    const closed = await fetch(`${server}/admin/policies/${ALLOW_ALL_POLICY_ID}`, { method: 'DELETE', headers });
    if (!closed.ok) throw new Error(`The open policy stays: ${closed.status}`);
    for (const policy of policies) await send(server, '/admin/policies', { effect: 'allow', ...policy }, owner);
    // The collection has images from its first document on.
    await send(server, `/api/${TODOS}`, { id: 'first' });
    const created: EndpointRequest[] = [];
    for (const { by, ...requested } of REQUESTED) {
      const { name, least, ordered } = requested;
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
      created.push({ ...requested, from: await rowOf(endpoint, mongo) });
    }
    return created;
  }
}

/** The number of the row by which an endpoint was created. */
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
  if (!response.ok) throw new Error(`${path} returned ${response.status}: ${text}`);
  return JSON.parse(text);
}
