/** Reports about webhooks: receivers that hang, close or listen in unusual ways, and Svix. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { Webhook } from 'svix';
import { findDeliveryIssue } from '../../src/commands/webhooks/verify-delivery.ts';
import { SvixServer } from '../helpers/webhooks/svix/svix-server.ts';
import type { Product, Report } from './report.ts';

const LIMIT_MS = 30_000;

async function until(fact: () => boolean | Promise<boolean>, what: string): Promise<void> {
  for (const end = performance.now() + LIMIT_MS; !(await fact()); await pause(20)) {
    if (performance.now() > end) throw new Error(`Not within ${LIMIT_MS} ms: ${what}`);
  }
}

/** A receiver for the time of some work. */
async function receiving<T>(
  serve: RequestListener,
  work: (port: number, server: Server) => Promise<T>,
  host = '127.0.0.1',
): Promise<T> {
  const server = createServer(serve);
  server.listen(0, host);
  await once(server, 'listening');
  try {
    return await work((server.address() as AddressInfo).port, server);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

/** Production mode calls this machine only where that is allowed. */
async function calling(product: Product): Promise<Product> {
  return product.mode === 'development' ? product : await product.another({ MILLRACE_EGRESS_ALLOW: '127.0.0.0/8,::1' });
}

async function addEndpoint(product: Product, url: string, more: object = {}): Promise<string> {
  const { status, body } = await product.call('POST', '/webhooks/endpoints', {
    body: { url, types: ['lines.created'], ...more },
  });
  assert.equal(status, 201, JSON.stringify(body));
  return body.id;
}

async function closingReceivers(product: Product): Promise<void> {
  const it = await calling(product);
  const seen: string[] = [];
  const serve: RequestListener = (request, response) => {
    seen.push(String(request.headers['webhook-id']));
    request.resume().once('end', () => response.writeHead(204).end(() => request.socket.end()));
  };
  await receiving(serve, async (port) => {
    const endpoint = await addEndpoint(it, `http://127.0.0.1:${port}/closing`);
    for (let n = 0; n < 60; n += 1) await it.call('POST', '/api/lines', { body: { n } });
    const delivered = async () =>
      (await it.call('GET', `/webhooks/deliveries?endpoint=${endpoint}&state=succeeded&limit=100`)).body;
    await until(async () => (await delivered()).length === 60, 'all are delivered');
    for (const { attempts } of await delivered()) assert.equal(attempts, 1);
    assert.equal(new Set(seen).size, 60);
    await it.call('DELETE', `/webhooks/endpoints/${endpoint}`);
  });
}

async function localhostReceivers(product: Product): Promise<void> {
  const it = await calling(product);
  for (const host of ['127.0.0.1', '::1']) {
    for (const name of ['localhost', 'hooks.localhost']) {
      const serve: RequestListener = (request, response) => {
        request.resume();
        response.writeHead(204).end();
      };
      await receiving(
        serve,
        async (port) => {
          const endpoint = await addEndpoint(it, `http://${name}:${port}/`);
          const { body } = await it.call('POST', `/webhooks/endpoints/${endpoint}/test`, { body: {} });
          const state = async () => (await it.call('GET', `/webhooks/deliveries/${body.id}`)).body.state;
          await until(async () => (await state()) !== 'pending', 'the test has ended');
          assert.equal(await state(), 'succeeded', `${name} at ${host}`);
          await it.call('DELETE', `/webhooks/endpoints/${endpoint}`);
        },
        host,
      );
    }
  }
}

async function hangingReceivers(product: Product): Promise<void> {
  const it = await product.another({ MILLRACE_EGRESS_ALLOW: '127.0.0.0/8' });
  const arrived = new Map<number, number[]>();
  const serve: RequestListener = (request, response) => {
    let text = '';
    request.on('data', (chunk) => (text += chunk));
    request.once('end', () => {
      if (request.url?.startsWith('/hangs')) return;
      const { n } = JSON.parse(text).data;
      arrived.set(n, [...(arrived.get(n) ?? []), performance.now()]);
      response.writeHead(204).end();
    });
  };
  await receiving(serve, async (port) => {
    for (let n = 0; n < 250; n += 1) await addEndpoint(it, `http://127.0.0.1:${port}/hangs/${n}`);
    for (let n = 0; n < 20; n += 1) await addEndpoint(it, `http://127.0.0.1:${port}/healthy/${n}`);
    const waits: number[] = [];
    for (let n = 0; n < 10; n += 1) {
      const from = performance.now();
      await it.call('POST', '/api/lines', { body: { n } });
      await until(() => arrived.get(n)?.length === 20, `delivery ${n} is at all healthy ones`);
      waits.push(...(arrived.get(n) ?? []).map((at) => at - from));
    }
    waits.sort((a, b) => a - b);
    const p99 = waits[Math.floor(waits.length * 0.99)] ?? Number.NaN;
    assert.ok(p99 < 1_000, `p99 is ${p99.toFixed(0)} ms`);
  });
}

/** A counterpart of the open Svix server, and a product that sends by it, for the time of some work. */
async function withSvix(product: Product, work: (it: Product, svix: SvixServer) => Promise<void>): Promise<void> {
  const svix = new SvixServer();
  await svix.start();
  try {
    const settings = {
      MILLRACE_SVIX_URL: svix.url,
      MILLRACE_SVIX_TOKEN: svix.token,
      MILLRACE_EGRESS_ALLOW: '127.0.0.0/8',
    };
    await work(await product.another(settings), svix);
    assert.deepEqual(svix.openApi.issues, []);
  } finally {
    await svix.die();
  }
}

interface Arrived {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

function keeping(arrived: Arrived[]): RequestListener {
  return (request, response) => {
    let body = '';
    request.on('data', (chunk) => (body += chunk));
    request.once('end', () => {
      arrived.push({ headers: request.headers, body });
      response.writeHead(204).end();
    });
  };
}

async function ownHeaders(product: Product): Promise<void> {
  await withSvix(product, async (it) => {
    const arrived: Arrived[] = [];
    await receiving(keeping(arrived), async (port) => {
      const url = `http://127.0.0.1:${port}/`;
      const endpoint = await addEndpoint(it, url, { headers: { authorization: 'Bearer a', 'x-team': '1' } });
      await it.call('POST', '/api/lines', { body: { n: 1 } });
      await until(() => arrived.length === 1, 'the first delivery');
      await it.call('PATCH', `/webhooks/endpoints/${endpoint}`, { body: { headers: { authorization: 'Bearer b' } } });
      await it.call('POST', '/api/lines', { body: { n: 2 } });
      await until(() => arrived.length === 2, 'the second delivery');
      const found = arrived.map(({ headers }) => [headers.authorization, headers['x-team']]);
      assert.deepEqual(found, [
        ['Bearer a', '1'],
        ['Bearer b', '1'],
      ]);
    });
  });
}

async function rotations(product: Product): Promise<void> {
  await withSvix(product, async (it) => {
    const arrived: Arrived[] = [];
    await receiving(keeping(arrived), async (port) => {
      const endpoint = await addEndpoint(it, `http://127.0.0.1:${port}/`);
      const rotate = async (graceSeconds: number) =>
        (await it.call('POST', `/webhooks/endpoints/${endpoint}/rotate`, { body: { graceSeconds } })).body.secret;
      const signatures = async (): Promise<number> => {
        const before = arrived.length;
        await it.call('POST', '/api/lines', { body: {} });
        await until(() => arrived.length > before, 'a delivery');
        return String(arrived.at(-1)?.headers['webhook-signature']).split(' ').length;
      };
      let secret = '';
      for (let n = 0; n < 12; n += 1) secret = await rotate(3_600);
      assert.equal(await signatures(), 3);
      const last = arrived.at(-1);
      new Webhook(secret).verify(last?.body ?? '', last?.headers as Record<string, string>);
      await rotate(0);
      assert.equal(await signatures(), 1);
    });
  });
}

async function refusedHeaders(product: Product): Promise<void> {
  const body = (headers: object) => ({ url: 'https://example.org/', types: ['lines.created'], headers });
  const names = ['Cache-Control', 'pragma', 'expires', 'age', 'x-amz-date', 'X-Goog-A', 'x-svix-a', 'svix-id'];
  await withSvix(product, async (it) => {
    for (const name of names) {
      const { status } = await it.call('POST', '/webhooks/endpoints', { body: body({ [name]: 'a' }) });
      assert.equal(status, 400, name);
    }
  });
  const direct = await product.call('POST', '/webhooks/endpoints', { body: body({ 'cache-control': 'a' }) });
  assert.equal(direct.status, 201);
  await product.call('DELETE', `/webhooks/endpoints/${direct.body.id}`);
}

async function refusedEndpoints(product: Product): Promise<void> {
  await withSvix(product, async (it, svix) => {
    svix.fate = (operation) => (operation === 'v1.endpoint.create' ? 422 : 'fine');
    const endpoint = await addEndpoint(it, 'https://example.org/');
    const health = async () => (await it.call('GET', `/webhooks/endpoints/${endpoint}`)).body.health;
    await until(async () => (await health()).error !== null, 'the error is shown');
    assert.match((await health()).error, /422/);
    for (let n = 0; n < 100; n += 1) await it.call('POST', '/api/lines', { body: { n } });
    await until(async () => (await health()).pending === 100, 'all wait');
    const requested = () => [...svix.requested.values()].reduce((sum, count) => sum + count, 0);
    const before = requested();
    await pause(2_000);
    assert.ok(requested() - before <= 2, `${requested() - before} calls of Svix in two seconds`);
    svix.fate = () => 'fine';
    await it.call('PATCH', `/webhooks/endpoints/${endpoint}`, { body: { name: 'again' } });
    await until(async () => (await health()).error === null, 'the error is gone');
  });
}

async function svixNames(): Promise<void> {
  const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
  const now = new Date();
  const signature = new Webhook(secret).sign('msg_1', now, '{}');
  const seconds = String(Math.floor(now.getTime() / 1_000));
  const headers = { 'svix-id': 'msg_1', 'svix-timestamp': seconds, 'svix-signature': signature };
  const call = { method: 'POST', path: '/', headers, body: '{}' };
  assert.equal(findDeliveryIssue(call, secret, now.getTime()), null);
  assert.match(findDeliveryIssue({ ...call, body: '{ }' }, secret, now.getTime()) ?? '', /signature/);
}

export const reports: readonly Report[] = [
  {
    point: 'D5',
    title: 'A receiver that closes its connection after each response gets 60 deliveries by one attempt each.',
    run: closingReceivers,
  },
  {
    point: 'D6',
    title: 'A receiver at localhost is reached by its IPv4 or its IPv6 address.',
    run: localhostReceivers,
  },
  {
    point: 'D10',
    title: 'Beside 250 endpoints that hang at one server, 20 healthy ones get first tries within a second.',
    run: hangingReceivers,
  },
  {
    point: 'F1',
    title: 'With Svix a new endpoint sends its own headers from its first delivery on, and changed ones at once.',
    run: ownHeaders,
  },
  {
    point: 'F2',
    title: 'With Svix three secrets sign after twelve rotations, and one after a rotation without grace.',
    run: rotations,
  },
  {
    point: 'F3',
    title: 'With Svix a header that Svix does not send is refused when an endpoint is saved.',
    run: refusedHeaders,
  },
  {
    point: 'F4',
    title: 'With Svix an endpoint that Svix refuses shows why, and its deliveries wait at rest.',
    run: refusedEndpoints,
  },
  {
    point: 'F5',
    title: '`webhooks listen` verifies deliveries with the header names of Svix.',
    run: svixNames,
  },
];
