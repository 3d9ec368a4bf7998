/**
 * Long lists on a real socket: sent at the speed of the client, cut off when they fail after their first byte, and
 * canceled when the client disconnects. Their speed is measured in bench/list-memory.ts.
 */
import http, { type IncomingMessage } from 'node:http';
import type { Long } from 'mongodb';
import t from 'tap';
import type { Services } from '../../../src/services.ts';
import { buildTestApp } from '../../helpers/app.ts';

/** Four batches of 1,000: two are more than all buffers on the way hold (sockets take up to 10 MB), so two stay. */
const DOCUMENTS = 4_000;
const FILLING = 'x'.repeat(8_000);

interface IdleCursor {
  readonly ns: string;
  readonly cursor: { readonly cursorId: Long; readonly nDocsReturned: Long | number };
}

/** The open cursor on the collection that waits for its next batch; undefined when there is none. */
async function idleCursor({ mongo }: Services, collection: string): Promise<IdleCursor | undefined> {
  const ns = `${mongo.data.databaseName}.${collection}`;
  const [found] = await mongo.client
    .db('admin')
    .aggregate<IdleCursor>([{ $currentOp: { idleCursors: true } }, { $match: { type: 'idleCursor', ns } }], {
      promoteLongs: false,
    })
    .toArray();
  return found;
}

/** Resolves with the result of `fact` as soon as there is one; the test runner's timeout ends what never happens. */
async function until<T>(fact: () => Promise<T | undefined>): Promise<T> {
  for (;;) {
    const found = await fact();
    if (found !== undefined) return found;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

t.test('long lists', async (t) => {
  const { app, services } = await buildTestApp(t);
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const documents = services.mongo.data.collection<{ _id: number; filling: string }>('long');
  for (let from = 0; from < DOCUMENTS; from += 500) {
    await documents.insertMany(Array.from({ length: 500 }, (_, n) => ({ _id: from + n, filling: FILLING })));
  }

  /** A list whose first bytes have arrived and whose rest is not read yet. */
  function begin(): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const request = http.get(`${url}/api/long`, { agent: false }, (response) => {
        response.once('readable', () => {
          response.read(1);
          resolve(response);
        });
      });
      request.once('error', reject);
    });
  }

  /** Reads to the end; returns whether the response was complete. */
  function readOn(response: IncomingMessage): Promise<{ complete: boolean; bytes: number; last: string }> {
    return new Promise((resolve) => {
      let bytes = 0;
      let last = '';
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        last = chunk.toString('latin1').slice(-1);
      });
      response.on('error', () => {});
      response.once('close', () => resolve({ complete: response.complete, bytes, last }));
    });
  }

  await t.test('a client that reads slowly gets everything', async (t) => {
    const response = await begin();
    const cursor = await until(() => idleCursor(services, 'long'));
    t.ok(Number(cursor.cursor.nDocsReturned) < DOCUMENTS, 'the rest stays in the database');
    const { complete, bytes, last } = await readOn(response);
    t.ok(complete);
    t.ok(bytes > DOCUMENTS * FILLING.length);
    t.equal(last, ']');
    t.equal(await idleCursor(services, 'long'), undefined);
  });

  await t.test('a list that fails after its first byte is cut off, never closed as if complete', async (t) => {
    const response = await begin();
    const { cursor } = await until(() => idleCursor(services, 'long'));
    await services.mongo.data.command({ killCursors: 'long', cursors: [cursor.cursorId] });
    const { complete, last } = await readOn(response);
    t.equal(complete, false, 'the body has no end');
    t.not(last, ']');
    t.equal((await fetch(`${url}/api/long/0`)).status, 200, 'the server goes on');
  });

  await t.test('the cursor of a disconnected client is closed', async (t) => {
    const response = await begin();
    await until(() => idleCursor(services, 'long'));
    response.destroy();
    await until(async () => ((await idleCursor(services, 'long')) === undefined ? true : undefined));
    t.pass('no cursor is left');
  });

  await t.test('HEAD leaves no cursor', async (t) => {
    const head = await fetch(`${url}/api/long`, { method: 'HEAD' });
    t.equal(head.status, 200);
    t.equal(head.headers.get('content-length'), null, 'an unknown length is not sent');
    const tag = (await fetch(`${url}/api/long/0`)).headers.get('etag') ?? '';
    const fresh = await fetch(`${url}/api/long/0`, { method: 'HEAD', headers: { 'if-none-match': tag } });
    t.equal(fresh.status, 304);
    t.equal(fresh.headers.get('content-length'), null, 'nor one of what is not sent again');
    await until(async () => ((await idleCursor(services, 'long')) === undefined ? true : undefined));
    t.pass('no cursor is left');
  });

  await t.test('a client that disconnects before the first byte leaves no cursor', async (t) => {
    await Promise.all(
      Array.from({ length: 10 }, async () => {
        const request = http.get(`${url}/api/long`, { agent: false });
        request.on('error', () => {});
        await new Promise((resolve) => request.once('finish', resolve));
        request.destroy();
      }),
    );
    t.equal((await fetch(`${url}/api/long/0`)).status, 200);
    await until(async () => ((await idleCursor(services, 'long')) === undefined ? true : undefined));
    t.pass('no cursor is left');
  });
});
