/**
 * What the checks of outgoing calls never connect to: spellings of IP addresses, names that resolve to them, and names
 * that change. Connections are counted at sockets that really listen.
 */
import { request } from 'node:http';
import t, { type Test } from 'tap';
import type { AddressPolicy } from '../../src/egress/address-policy.ts';
import { guardedConnector } from '../../src/egress/connector.ts';
import { Egress } from '../../src/egress/egress.ts';
import { EgressError } from '../../src/egress/egress-error.ts';
import { ELSEWHERE, listening, SPELLINGS, twoLocations } from '../helpers/network/blocked-hosts.ts';

t.test('in production no spelling of this machine is called', async (t) => {
  const { port, count } = await listening(t);
  const egress = new Egress({ mode: 'production', allow: [] });
  t.teardown(() => egress.close());
  t.ok(SPELLINGS.length >= 30, `${SPELLINGS.length} spellings`);
  for (const host of SPELLINGS) {
    for (const scheme of ['http', 'https']) {
      const url = `${scheme}://${host}:${port}/`;
      t.match(await kindOf(egress.fetch(url)), /^(blocked-url|blocked-ip)$/, url);
      t.type(egress.checkUrl(url), 'string', `${url} cannot be saved`);
    }
  }
  t.equal(count(), 0, 'connections');
});

t.test('each of these spellings leads to this machine without the checks', async (t) => {
  const { port, count } = await listening(t);
  for (const [index, host] of SPELLINGS.entries()) {
    const url = new URL(`http://${host}:${port}/`);
    await new Promise((resolve) => request(url).on('error', resolve).on('response', resolve).end());
    t.equal(count(), index + 1, url.href);
  }
});

t.test('no spelling of another private network is tried', async (t) => {
  for (const mode of ['production', 'development'] as const) {
    // It would never respond, so its own error kind shows that no call was made.
    const egress = new Egress({ mode, allow: [] });
    t.teardown(() => egress.close());
    for (const host of ELSEWHERE) {
      t.match(await kindOf(egress.fetch(`https://${host}/`)), /^(blocked-url|blocked-ip)$/, host);
    }
  }
});

t.test('a URL in pieces is checked as its text', async (t) => {
  const { port, count } = await listening(t);
  const egress = new Egress({ mode: 'production', allow: [] });
  t.teardown(() => egress.close());
  for (const host of ['2130706433', '[::ffff:7f00:1]', 'localhost']) {
    t.match(await kindOf(egress.fetch(new URL(`https://${host}:${port}/`))), /^(blocked-url|blocked-ip)$/, host);
  }
  t.equal(count(), 0);
});

t.test('a name that resolves to this machine is not connected to', async (t) => {
  const { port, count } = await listening(t);
  const addresses = ['127.0.0.1', '::1', '0.0.0.0', '::', '::ffff:127.0.0.1', '::7f00:1', '::ffff:7f00:1', '127.9.9.9'];
  for (const address of addresses) {
    const egress = new Egress({ mode: 'production', allow: [], lookup: async () => [entry(address)] });
    t.equal(await kindOf(egress.fetch(`https://inside.example:${port}/`)), 'blocked-ip', address);
    await egress.close();
  }
  t.equal(count(), 0);
});

t.test('a name that is public when it is saved and private when it is called', async (t) => {
  const { good, bad, port } = await twoLocations(t);
  const responses = ['127.0.0.2', '127.0.0.1', '127.0.0.1', '127.0.0.2'];
  const egress = guarded(t, async () => [entry(responses.shift() ?? '127.0.0.1')]);
  const url = `http://rebinding.example:${port}/`;
  t.equal(egress.checkUrl(url), null);
  t.equal((await egress.fetch(url)).status, 200);
  t.equal(await kindOf(egress.fetch(url)), 'blocked-ip');
  t.equal(await kindOf(egress.fetch(url)), 'blocked-ip');
  t.equal((await egress.fetch(url)).status, 200, 'the name is asked anew');
  t.strictSame([good(), bad()], [2, 0], 'connections to the public place, and to the private one');
});

t.test('of a name with public and private IP addresses the public ones are connected to', async (t) => {
  const { good, bad, port } = await twoLocations(t);
  const both = ['127.0.0.1', '::1', '127.0.0.2', '127.0.0.1'].map(entry);
  const egress = guarded(t, async () => both);
  for (let i = 0; i < 5; i++) t.equal((await egress.fetch(`http://both.example:${port}/`)).status, 200);
  t.strictSame([good(), bad()], [5, 0]);
});

t.test('a name whose lookup hangs is looked up once, however many calls wait for it', async (t) => {
  const { port } = await listening(t);
  let lookups = 0;
  const found = Promise.withResolvers<{ address: string; family: number }[]>();
  const egress = guarded(t, () => {
    lookups += 1;
    return lookups === 1 ? found.promise : Promise.resolve([entry('127.0.0.2')]);
  });
  const url = `http://slow.example:${port}/`;
  const calls = Array.from({ length: 6 }, () => kindOf(egress.fetch(url, {}, { timeoutMs: 200 })));
  t.strictSame(await Promise.all(calls), Array(6).fill('timeout'));
  t.equal(lookups, 1);
  found.resolve([entry('127.0.0.2')]);
  t.equal(await kindOf(egress.fetch(url)), 'answered');
  t.equal(lookups, 2, 'what was found is not kept');
});

t.test('the IP address of the connection itself is checked, whatever was looked up', async (t) => {
  const { port, count, received } = await listening(t);
  const verdicts = [true, false];
  t.equal(await connecting('x.example', port, () => verdicts.shift() ?? false), 'blocked-ip');
  t.equal(count(), 1);
  t.equal(received(), 0, 'nothing was sent');
});

t.test('an IP address that needs no lookup is checked, too', async (t) => {
  const { port, count } = await listening(t);
  for (const host of ['127.0.0.1', '::1']) t.equal(await connecting(host, port, () => false), 'blocked-ip');
  t.equal(count(), 0);
});

t.test('production accepts no http, except in networks that the setting lists', async (t) => {
  const { port, count } = await listening(t);
  const strict = new Egress({ mode: 'production', allow: [], lookup: async () => [entry('8.8.8.8')] });
  t.teardown(() => strict.close());
  t.equal(strict.checkUrl('http://example.org/'), 'must start with https://');
  t.equal(strict.checkUrl('http://8.8.8.8/'), 'must start with https://');
  t.equal(strict.checkUrl('https://example.org/'), null);
  const egress = new Egress({ mode: 'production', allow: ['127.0.0.2'], lookup: async () => [entry('8.8.8.8')] });
  t.teardown(() => egress.close());
  t.equal(egress.checkUrl(`http://127.0.0.2:${port}/`), null);
  t.equal(egress.checkUrl('http://inside.example/'), null, 'what the name leads to is not known yet');
  t.equal(await kindOf(egress.fetch('http://outside.example/')), 'blocked-ip', 'a public place by http');
  t.equal(count(), 0);
});

t.test('development mode calls this machine over http', async (t) => {
  const { port } = await listening(t);
  const egress = new Egress({ mode: 'development', allow: [] });
  t.teardown(() => egress.close());
  for (const host of ['127.0.0.1', 'localhost', '[::1]']) {
    t.equal((await egress.fetch(`http://${host}:${port}/`)).status, 200, host);
  }
  t.match(egress.checkUrl(`http://2130706433:${port}/`), /in an unusual way; write 127\.0\.0\.1/);
});

t.test('the error of a URL is in words', async (t) => {
  const egress = new Egress({ mode: 'production', allow: [] });
  t.teardown(() => egress.close());
  const cases: readonly (readonly [string, RegExp])[] = [
    ['', /not an http\(s\) URL/],
    ['example.org', /not an http\(s\) URL/],
    ['ftp://example.org/', /not an http\(s\) URL/],
    ['file:///etc/passwd', /not an http\(s\) URL/],
    ['https://', /not an http\(s\) URL/],
    ['https://exa mple.org/', /ASCII/],
    ['https://example.org\\@127.0.0.1/', /ASCII/],
    ['https://bücher.example/', /xn--/],
    ['https://example.org/\r\nHost: x', /ASCII/],
    ['https://user@example.org/', /user name/],
    ['https://@example.org/', /user name/],
    ['https://example.org/#part', /fragment/],
    ['https://example.org./', /dot/],
    ['https://localhost./', /dot/],
    ['https://1.1/', /unusual/],
    ['https://example.org:22/', /port 22/],
    ['https://example.org:25/', /port 25/],
    ['https://example.org:6667/', /port 6667/],
    ['https://192.168.0.1/', /not public/],
    [`https://example.org/${'x'.repeat(2_048)}`, /longer/],
  ];
  for (const [url, issue] of cases) t.match(egress.checkUrl(url), issue, url);
  for (const url of ['https://example.org', 'HTTPS://Example.org:8443/a?b=c', 'https://1.1.1.1/', 'https://a.b:443/']) {
    t.equal(egress.checkUrl(url), null, url);
  }
});

/** Connects as undici does. */
async function connecting(hostname: string, port: number, reach: AddressPolicy): Promise<string> {
  const end = new AbortController().signal;
  const connect = guardedConnector({
    addressPolicy: reach,
    lookup: async () => [entry('127.0.0.1')],
    timeoutMs: 5_000,
    end,
  });
  const target = { hostname, host: `${hostname}:${port}`, protocol: 'http:', port: String(port) };
  return kindOf(
    new Promise((resolve, reject) => connect(target, (...[error]) => (error === null ? resolve(null) : reject(error)))),
  );
}

function entry(address: string): { address: string; family: number } {
  return { address, family: address.includes(':') ? 6 : 4 };
}

/** Production, with one IP address of this machine that represents a public one. */
function guarded(t: Test, lookup: () => Promise<{ address: string; family: number }[]>): Egress {
  const egress = new Egress({ mode: 'production', allow: ['127.0.0.2'], lookup });
  t.teardown(() => egress.close());
  return egress;
}

async function kindOf(call: Promise<unknown>): Promise<string> {
  try {
    await call;
    return 'answered';
  } catch (error) {
    return error instanceof EgressError ? error.kind : String(error);
  }
}
