/**
 * Long lists on a real socket: written as fast as the client reads, cut off when they fail after their first byte, and
 * given up when the client goes away. How fast they are is for bench/list-memory.ts.
 */
import http, { type IncomingMessage } from 'node:http';
import type { Long } from 'mongodb';
import t from 'tap';
import type { Parts } from '../../../src/parts.ts';
import { buildTestApp } from '../../helpers/app.ts';

/** Four batches of 1,000: two are more than all buffers on the way hold (sockets take up to 10 MB), so two stay. */
const DOCUMENTS = 4_000;
const FILLING = 'x'.repeat(8_000);

interface IdleCursor {
  readonly ns: string;
  readonly cursor: { readonly cursorId: Long; readonly nDocsReturned: Long | number };
}

/** The cursor that waits for its next batch on the collection; undefined when there is none. */
async function idleCursor({ mongo }: Parts, collection: string): Promise<IdleCursor | undefined> {
  const ns = `${mongo.data.databaseName}.${collection}`;
  const [found] = await mongo.client
    .db('admin')
    .aggregate<IdleCursor>([{ $currentOp: { idleCursors: true } }, { $match: { type: 'idleCursor', ns } }], {
      promoteLongs: false,
    })
    .toArray();
  return found;
}

/** Resolves with what `fact` gives as soon as it gives something; the runner's limit ends what never comes. */
async function until<T>(fact: () => Promise<T | undefined>): Promise<T> {
  for (;;) {
    const found = await fact();
    if (found !== undefined) return found;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

t.test('long lists', async (t) => {
  const { app, parts } = await buildTestApp(t);
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const documents = parts.mongo.data.collection<{ _id: number; filling: string }>('long');
  for (let from = 0; from < DOCUMENTS; from += 500) {
    await documents.insertMany(Array.from({ length: 500 }, (_, n) => ({ _id: from + n, filling: FILLING })));
  }

  /** A list whose first bytes have come and whose rest is not read yet. */
  function begin(): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const request = http.get(`${url}/api/long`, { agent: false }, (answer) => {
        answer.once('readable', () => {
          answer.read(1);
          resolve(answer);
        });
      });
      request.once('error', reject);
    });
  }

  /** Reads to the end; tells whether that came properly. */
  function readOn(answer: IncomingMessage): Promise<{ complete: boolean; bytes: number; last: string }> {
    return new Promise((resolve) => {
      let bytes = 0;
      let last = '';
      answer.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        last = chunk.toString('latin1').slice(-1);
      });
      answer.on('error', () => {});
      answer.once('close', () => resolve({ complete: answer.complete, bytes, last }));
    });
  }

  await t.test('a client that reads slowly is waited for, and gets everything', async (t) => {
    const answer = await begin();
    const cursor = await until(() => idleCursor(parts, 'long'));
    t.ok(Number(cursor.cursor.nDocsReturned) < DOCUMENTS, 'the rest stays in the database');
    const { complete, bytes, last } = await readOn(answer);
    t.ok(complete);
    t.ok(bytes > DOCUMENTS * FILLING.length);
    t.equal(last, ']');
    t.equal(await idleCursor(parts, 'long'), undefined);
  });

  await t.test('a list that fails after its first byte is cut off, never closed as if complete', async (t) => {
    const answer = await begin();
    const { cursor } = await until(() => idleCursor(parts, 'long'));
    await parts.mongo.data.command({ killCursors: 'long', cursors: [cursor.cursorId] });
    const { complete, last } = await readOn(answer);
    t.equal(complete, false, 'the body has no end');
    t.not(last, ']');
    t.equal((await fetch(`${url}/api/long/0`)).status, 200, 'the server goes on');
  });

  await t.test('a client that goes away takes its cursor with it', async (t) => {
    const answer = await begin();
    await until(() => idleCursor(parts, 'long'));
    answer.destroy();
    await until(async () => ((await idleCursor(parts, 'long')) === undefined ? true : undefined));
    t.pass('no cursor is left');
  });

  await t.test('HEAD leaves no cursor', async (t) => {
    const head = await fetch(`${url}/api/long`, { method: 'HEAD' });
    t.equal(head.status, 200);
    t.equal(head.headers.get('content-length'), null, 'a length that nobody knows is not told');
    const tag = (await fetch(`${url}/api/long/0`)).headers.get('etag') ?? '';
    const fresh = await fetch(`${url}/api/long/0`, { method: 'HEAD', headers: { 'if-none-match': tag } });
    t.equal(fresh.status, 304);
    t.equal(fresh.headers.get('content-length'), null, 'nor one of what is not sent again');
    await until(async () => ((await idleCursor(parts, 'long')) === undefined ? true : undefined));
    t.pass('no cursor is left');
  });

  await t.test('a client that leaves before the first byte leaves no cursor either', async (t) => {
    await Promise.all(
      Array.from({ length: 10 }, async () => {
        const request = http.get(`${url}/api/long`, { agent: false });
        request.on('error', () => {});
        await new Promise((resolve) => request.once('finish', resolve));
        request.destroy();
      }),
    );
    t.equal((await fetch(`${url}/api/long/0`)).status, 200);
    await until(async () => ((await idleCursor(parts, 'long')) === undefined ? true : undefined));
    t.pass('no cursor is left');
  });
});
