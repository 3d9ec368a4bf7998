/** Reports about webhooks: receivers that hang, close or listen in unusual ways, and Svix. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
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
      (await it.call('GET', `/webhooks/deliveries?endpoint=${endpoint}&state=delivered&limit=100`)).body;
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
          assert.equal(await state(), 'delivered', `${name} at ${host}`);
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
];
