/**
 * What every file store must do: the promises of src/files/stores/file-store.ts, one by one. A store passes
 * or it is none.
 */
import { createHash, randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import type { Test } from 'tap';
import { type FileKey, type FileStore, fileKey } from '../../src/files/stores/file-store.ts';

export interface StoreUnderTest {
  readonly store: FileStore;
  /** How many things lie in the store, finished or not: chunks and heads, objects and cut uploads. */
  readonly count: () => Promise<number>;
}

const MIB = 1_048_576;
const NEVER = new AbortController().signal;

/** Runs the suite against a store that is empty. */
export function fileStoreSuite(t: Test, { store, count }: StoreUnderTest): void {
  t.test('is ready and has a name', async (t) => {
    await store.check();
    t.match(store.name, /^[a-z0-9]+(:[^\s]+)?$/);
  });

  t.test('gives back every byte, whatever the size', async (t) => {
    for (const size of [0, 1, 1_000, MIB - 1, MIB, MIB + 1, 5 * MIB - 1, 5 * MIB, 5 * MIB + 1, 12 * MIB + 7]) {
      const key = newKey();
      const bytes = randomBytes(size);
      await store.write(key, inPieces(bytes, 65_537), NEVER);
      const read = await buffer(await store.read(key, size));
      t.ok(read.equals(bytes), `${size} bytes come back as they went`);
      await store.remove(key);
    }
    t.equal(await count(), 0, 'nothing lies there after remove');
  });

  t.test('gives back any range', async (t) => {
    const size = 3 * MIB + 11;
    const bytes = randomBytes(size);
    const key = newKey();
    await store.write(key, Readable.from([bytes]), NEVER);
    const edges = [0, 1, MIB - 1, MIB, MIB + 1, 2 * MIB, size - 2, size - 1];
    for (const start of edges) {
      for (const end of edges.filter((edge) => edge >= start)) {
        const read = await buffer(await store.read(key, size, { start, end }));
        if (!read.equals(bytes.subarray(start, end + 1))) t.fail(`bytes ${start} to ${end} are wrong`);
      }
    }
    t.pass('all ranges over the edges of chunks');
    await store.remove(key);
  });

  t.test('remove is content with nothing', async (t) => {
    await store.remove(newKey());
    t.equal(await count(), 0);
  });

  for (const before of [0, 100, 3 * MIB, 11 * MIB]) {
    t.test(`a source that breaks after ${before} bytes is an error, and remove takes all away`, async (t) => {
      const key = newKey();
      const broken = new Error('The line went dead');
      await t.rejects(store.write(key, breaksAfter(before, broken), NEVER), broken);
      await store.remove(key);
      t.equal(await count(), 0);
      await t.rejects(store.read(key, before || 1), { code: 'file-store-unavailable' });
    });

    t.test(`an abort after ${before} bytes ends the write, and remove takes all away`, async (t) => {
      const key = newKey();
      const abort = new AbortController();
      const reason = new Error('No longer wanted');
      const source = stallsAfter(before, () => abort.abort(reason));
      await t.rejects(store.write(key, source, abort.signal), reason);
      t.ok(source.destroyed, 'the source is let go');
      await store.remove(key);
      t.equal(await count(), 0);
    });
  }

  t.test('an abort before the first byte is one too', async (t) => {
    const reason = new Error('Too late');
    const key = newKey();
    await t.rejects(store.write(key, Readable.from([randomBytes(10)]), AbortSignal.abort(reason)), reason);
    await store.remove(key);
    t.equal(await count(), 0);
  });

  t.test('bytes that are missing or of another size are an error before the first one is sent', async (t) => {
    await t.rejects(store.read(newKey(), 10), { code: 'file-store-unavailable' });
    const key = newKey();
    await store.write(key, Readable.from([randomBytes(100)]), NEVER);
    await t.rejects(store.read(key, 101), { code: 'file-store-unavailable' });
    await t.rejects(store.read(key, 99), { code: 'file-store-unavailable' });
    await store.remove(key);
  });

  t.test('readers that go away half-way free what they held', async (t) => {
    const key = newKey();
    const size = 4 * MIB;
    const bytes = randomBytes(size);
    await store.write(key, Readable.from([bytes]), NEVER);
    for (let i = 0; i < 60; i++) {
      const stream = await store.read(key, size);
      await new Promise<void>((resolve, reject) => {
        stream.once('data', () => resolve(stream.destroy() as never));
        stream.once('error', reject);
      });
    }
    t.equal(sha256(await buffer(await store.read(key, size))), sha256(bytes));
    await store.remove(key);
  });

  t.test('takes no more from the source than it can store', async (t) => {
    const key = newKey();
    const abort = new AbortController();
    let pulled = 0;
    const source = Readable.from(
      (async function* () {
        for (; pulled < 1_024; pulled++) {
          if (pulled === 64) abort.abort(new Error('Enough'));
          yield Buffer.alloc(MIB);
        }
      })(),
      { objectMode: false, highWaterMark: MIB },
    );
    await t.rejects(store.write(key, source, abort.signal), { message: 'Enough' });
    t.ok(pulled < 80, `stopped after ${pulled} MiB`);
    await store.remove(key);
    t.equal(await count(), 0);
  });
}

/** A key that was never used. */
export function newKey(): FileKey {
  return fileKey(randomBytes(12).toString('hex'));
}

export function sha256(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}

function inPieces(bytes: Buffer, length: number): Readable {
  const pieces = Array.from({ length: Math.ceil(bytes.length / length) }, (_, i) =>
    bytes.subarray(i * length, (i + 1) * length),
  );
  return Readable.from(pieces, { objectMode: false });
}

function breaksAfter(size: number, error: Error): Readable {
  return Readable.from(
    (async function* () {
      for (let sent = 0; sent < size; sent += 50_000) yield randomBytes(Math.min(50_000, size - sent));
      throw error;
    })(),
    { objectMode: false },
  );
}

function stallsAfter(size: number, stalled: () => void): Readable {
  let sent = 0;
  return new Readable({
    read() {
      if (sent >= size) {
        setImmediate(stalled);
        return;
      }
      const piece = randomBytes(Math.min(50_000, size - sent));
      sent += piece.length;
      this.push(piece);
    },
  });
}
