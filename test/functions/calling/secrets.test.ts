/** Secrets of a plugin are redacted in lines, messages, stacks, operations and stored results, in the usual encodings. */
import t from 'tap';
import { pluginRedactor } from '../../../src/functions/plugins/redaction.ts';
import { toEndedRunRow } from '../../../src/functions/runs/run-result.ts';
import { callsFixture, RUN, returned } from '../../helpers/functions/calls.ts';
import { pluginOf } from '../../helpers/functions/plugins.ts';

const SECRETS = { KEY: 'p/a+s "w\u00f6rd"\n& more=1', TOKEN: 'sk_live_4eC39HqLyjWDarjtT1zdP7dc', PIN: '7q' };
const SHORT = 'a7q-z';

const FORMS: Readonly<Record<string, (value: string) => string>> = {
  plain: (value) => value,
  json: (value) => JSON.stringify({ value }),
  'json twice': (value) => JSON.stringify(JSON.stringify({ value })),
  'json in ASCII': (value) =>
    JSON.stringify(value).replace(/[^\x20-\x7e]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`),
  percent: (value) => `https://x/?k=${encodeURIComponent(value)}`,
  'percent in small letters': (value) => encodeURIComponent(value).replace(/%../g, (code) => code.toLowerCase()),
  form: (value) => new URLSearchParams({ k: value }).toString(),
  hex: (value) => Buffer.from(value).toString('hex'),
  base64: (value) => Buffer.from(value).toString('base64'),
  base64url: (value) => Buffer.from(value).toString('base64url'),
  'base64 of a longer text': (value) => Buffer.from(`user:${value}`).toString('base64'),
  'base64 of another longer text': (value) => Buffer.from(`users:${value}!`).toString('base64'),
};

/** Texts that would reveal the secret. */
function isIn(text: string, value: string): boolean {
  const decoded = [...text.matchAll(/[\w+/-]{6,}={0,2}/g)].map(([run]) => Buffer.from(run, 'base64').toString());
  const hex = [...text.matchAll(/[0-9a-f]{12,}/gi)].map(([run]) => Buffer.from(run, 'hex').toString());
  return [text, ...decoded, ...hex].some((one) => one.includes(value));
}

t.test('every form of a secret is redacted', async (t) => {
  const blank = pluginRedactor({ secrets: SECRETS });
  for (const [form, make] of Object.entries(FORMS)) {
    for (const value of [SECRETS.KEY, SECRETS.TOKEN]) {
      const text = `before ${make(value)} after`;
      const shown = blank(text);
      t.not(shown, text, form);
      t.notOk(isIn(shown, value), `${form}: ${shown}`);
      t.match(shown, /^before .*after$/, 'and the rest stays');
    }
  }
  t.notMatch(blank(SHORT), SECRETS.PIN, 'short ones too');
  t.equal(blank('nothing of it'), 'nothing of it');
  t.equal(pluginRedactor({ secrets: {} })('text'), 'text');
  t.equal(pluginRedactor({ secrets: { A: '' } })('text'), 'text', 'an empty one is none');
});

t.test('secrets are redacted in everything that a call leaves behind', async (t) => {
  const { parts: services, call } = await callsFixture(t);
  const live: string[] = [];
  const plugin = { secrets: SECRETS, fetchHosts: [] };
  const failed = await call(
    async ({ request, log, call: { facts } }) => {
      for (const make of Object.values(FORMS)) log(make(facts.secrets['KEY'] ?? ''));
      await request('documents.get', { collection: 'x', id: SECRETS.TOKEN });
      await request('fetch', { url: `https://${SECRETS.TOKEN.toLowerCase()}.example.com/` }).catch(() => undefined);
      throw new Error(`It failed with ${SECRETS.TOKEN}`);
    },
    { plugin, onLog: ({ text }) => live.push(text) },
  );
  t.equal(failed.outcome.kind, 'error');
  t.equal(failed.logs.length, Object.keys(FORMS).length);
  t.strictSame(
    live,
    failed.logs.map(({ text }) => text),
    'those who watch see the same',
  );
  const value = await call(({ call: { facts } }) => ({ key: facts.secrets['KEY'], all: facts.secrets }), { plugin });
  t.match(returned(value), { key: SECRETS.KEY }, 'the one who called gets what the code gives');
  const [fn] = pluginOf('shop', { run: { use: { kind: 'job' } } }, {}, plugin).functions;
  if (fn === undefined) throw new Error('No function');
  const kept = [failed, value].map((report) =>
    toEndedRunRow({ ...RUN, fn, input: JSON.stringify(SECRETS), client: 'ada' }, report),
  );
  for (const secret of Object.values(SECRETS).filter(({ length }) => length > 2)) {
    t.notOk(isIn(JSON.stringify([failed, live]), secret), 'the report');
    t.notOk(isIn(JSON.stringify(kept), secret), 'the run');
  }
  t.ok(services);
});

t.test('logs are limited', async (t) => {
  const { call } = await callsFixture(t);
  const lines = await call(({ log }) => Array.from({ length: 500 }, (_, n) => log(`line ${n}`)).length);
  t.equal(lines.logs.length, 200);
  t.match(lines.logs.at(-1), { level: 'warn', text: /^The log was truncated/ });
  const long = await call(({ log }) => {
    log('x'.repeat(40_000));
    log('\u00e9'.repeat(40_000));
    log('never');
  });
  t.strictSame(
    long.logs.map(({ text }) => text.slice(0, 8)),
    ['xxxxxxxx', 'The log '],
  );
});
