/** Validation of endpoints: what is rejected and why, what is completed, and what a merge patch keeps. */
import t from 'tap';
import type { ServerMode } from '../../../src/config/config.ts';
import { Egress } from '../../../src/egress/egress.ts';
import { MillraceError } from '../../../src/lib/errors.ts';
import {
  parseEndpointPatch,
  parseNewEndpoint,
  validateStoredEndpoint,
} from '../../../src/webhooks/endpoint/endpoint-rules.ts';
import { MASKED_HEADER_VALUE } from '../../../src/webhooks/endpoint/endpoint-schema.ts';
import { Random, runCount, runSeed } from '../../helpers/random.ts';
import { BAD_BODIES, GOOD, GOOD_BODIES, secretOf } from './bodies.ts';

const egress = (mode: ServerMode, allow: readonly string[] = []) => {
  const created = new Egress({ mode, allow });
  t.teardown(() => created.close());
  return { checkUrl: (url: string) => created.checkUrl(url) };
};
const inDevelopment = egress('development');
const inProduction = egress('production');
const withNetwork = egress('production', ['10.1.0.0/16']);

/** The rejection of a body: its code, JSON Pointers and sentences; null for a valid body. */
function refusal(read: () => unknown): { readonly code: string; readonly issues: readonly string[] } | null {
  try {
    read();
    return null;
  } catch (error) {
    if (!(error instanceof MillraceError)) throw error;
    return { code: error.code, issues: error.issues.map(({ pointer, detail }) => `${pointer} ${detail}`) };
  }
}

t.test('valid endpoint bodies are accepted', async (t) => {
  for (const [name, body] of GOOD_BODIES)
    t.equal(
      refusal(() => parseNewEndpoint(body, inDevelopment)),
      null,
      name,
    );
});

t.test('invalid endpoint bodies are rejected, each with its JSON Pointer and a sentence', async (t) => {
  for (const [name, body, code, issue] of BAD_BODIES) {
    const found = refusal(() => parseNewEndpoint(body, inDevelopment));
    t.equal(found?.code, code, name);
    t.match(found?.issues[0] ?? '', issue, name);
  }
});

t.test('all errors of one endpoint body are reported at once', async (t) => {
  const body = { ...GOOD, url: 'ftp://x.example', types: ['nonsense'], headers: { host: 'a' }, secret: 'x' };
  t.match(refusal(() => parseNewEndpoint(body, inDevelopment))?.issues, [
    /^\/secret/,
    /^\/url/,
    /^\/types\/0/,
    /^\/headers\/host/,
  ]);
});

t.test('production accepts https only, except in networks that a setting names', async (t) => {
  for (const url of [
    'http://example.org/',
    'http://127.0.0.1/',
    'https://127.0.0.1/',
    'https://[::1]/',
    'https://10.2.0.1/',
  ]) {
    t.match(
      refusal(() => parseNewEndpoint({ ...GOOD, url }, inProduction)),
      { code: 'invalid-endpoint' },
      url,
    );
  }
  for (const url of ['https://example.org/', 'http://10.1.2.3/', 'https://10.1.2.3/']) {
    const expected = url === 'https://example.org/' ? null : { code: 'invalid-endpoint' };
    t.match(
      refusal(() => parseNewEndpoint({ ...GOOD, url }, inProduction)),
      expected,
      url,
    );
    t.equal(
      refusal(() => parseNewEndpoint({ ...GOOD, url }, withNetwork)),
      null,
      url,
    );
  }
});

t.test('missing fields of an endpoint get defaults, and a secret of 32 bytes is generated', async (t) => {
  const { secret, ...rest } = parseNewEndpoint({ ...GOOD, headers: { 'X-A': 'b' } }, inDevelopment);
  t.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/);
  t.not(parseNewEndpoint(GOOD, inDevelopment).secret, secret);
  t.strictSame(rest, {
    written: {
      ...GOOD,
      name: null,
      filter: null,
      ratePerSecond: null,
      ordering: 'none',
      retrySchedule: 'standard',
      enabled: true,
    },
    headers: { 'x-a': 'b' },
  });
});

t.test('a merge patch of an endpoint keeps what it does not name', async (t) => {
  const before = parseNewEndpoint({ ...GOOD, name: 'A', headers: { 'x-a': 'kept', 'x-b': 'old' } }, inDevelopment);
  const change = (patch: unknown) => parseEndpointPatch(patch, before, inDevelopment);

  t.strictSame(change({}), { written: before.written, headers: before.headers }, 'an empty one changes nothing');
  t.strictSame(change({ headers: { 'x-a': MASKED_HEADER_VALUE, 'X-B': 'new', 'x-c': 'more' } }).headers, {
    'x-a': 'kept',
    'x-b': 'new',
    'x-c': 'more',
  });
  t.strictSame(change({ headers: { 'x-a': null } }).headers, { 'x-b': 'old' });
  t.strictSame(change({ headers: null }).headers, {});
  t.match(change({ name: null, enabled: false }).written, { name: null, enabled: false, types: GOOD.types });
  t.strictSame(
    change({ url: 'https://example.org/other' }).headers,
    before.headers,
    'the same origin keeps the values',
  );

  const elsewhere = 'https://evil.example/';
  t.match(
    refusal(() => change({ url: elsewhere })),
    { code: 'invalid-endpoint', issues: [/^\/headers\/x-a needs its value/, /x-b/] },
  );
  t.equal(
    refusal(() => change({ url: elsewhere, headers: { 'x-a': '1', 'x-b': '2' } })),
    null,
  );
  t.equal(
    refusal(() => change({ url: elsewhere, headers: null })),
    null,
  );

  t.match(
    refusal(() => change({ url: null })),
    { code: 'invalid-body' },
  );
  t.match(
    refusal(() => change({ secret: secretOf(32) })),
    { code: 'invalid-body', issues: [/^\/secret is not known/] },
  );
  t.match(
    refusal(() => change([])),
    { code: 'invalid-body-type' },
  );
  t.match(
    refusal(() => change(undefined)),
    { code: 'body-required' },
  );
  t.match(
    refusal(() => change({ headers: { 'x-z': MASKED_HEADER_VALUE } })),
    { code: 'invalid-endpoint', issues: [/^\/headers\/x-z/] },
  );
});

t.test('any endpoint body is either rejected with an error of the table or stored unchanged', async (t) => {
  const seed = runSeed();
  t.comment(`seed ${seed}`);
  const random = new Random(seed);
  const values: readonly unknown[] = [
    null,
    true,
    0,
    -1,
    1e300,
    '',
    MASKED_HEADER_VALUE,
    '*',
    'todos.*',
    'a\r\nb',
    [],
    [[]],
    {},
    { $or: [] },
    { toString: 1 },
    'whsec_',
    'https://example.org',
    'http://[::ffff:7f00:1]/',
    { a: { $regex: '(' } },
    ['*'],
    'x'.repeat(3_000),
  ];
  const names = [
    'url',
    'types',
    'name',
    'filter',
    'headers',
    'ratePerSecond',
    'ordering',
    'retrySchedule',
    'enabled',
    'secret',
    'id',
  ];
  let taken = 0;
  const rounds = runCount(3_000, 100_000);
  for (let round = 0; round < rounds; round += 1) {
    const body: Record<string, unknown> = { ...GOOD };
    for (let count = random.below(4); count > 0; count -= 1) {
      const value = random.pick(values);
      body[random.pick(names)] = random.once(3)
        ? { [random.pick(['x-a', 'Host', 'a.b', '$or', 'x\n'])]: value }
        : value;
    }
    // Anything but an error of the closed table is thrown.
    const refused = refusal(() => {
      const { written, headers } = parseNewEndpoint(body, inDevelopment);
      validateStoredEndpoint(written, headers, inDevelopment);
      taken += 1;
    });
    if (refused !== null)
      t.match(refused.code, /^(invalid-body|invalid-endpoint)$/, JSON.stringify(body).slice(0, 200));
  }
  t.ok(taken > rounds / 50 && taken < rounds, `${taken} of ${rounds} were taken`);
});

t.test('a header that the sender cannot send is rejected by name, but an already stored one stays', async (t) => {
  const headerIssue = (name: string) => (name.toLowerCase() === 'pragma' ? 'is not sent' : null);
  const rules = { ...inDevelopment, headerIssue };
  t.match(
    refusal(() => parseNewEndpoint({ ...GOOD, headers: { Pragma: 'a', 'x-a': 'b' } }, rules)),
    { code: 'invalid-endpoint', issues: ['/headers/Pragma is not sent'] },
  );
  const before = parseNewEndpoint({ ...GOOD, headers: { pragma: 'a' } }, inDevelopment);
  t.equal(
    refusal(() => parseEndpointPatch({ enabled: false }, before, rules)),
    null,
  );
  t.match(
    refusal(() => parseEndpointPatch({ headers: { pragma: 'b' } }, before, rules)),
    { issues: ['/headers/pragma is not sent'] },
  );
});
