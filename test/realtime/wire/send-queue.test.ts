/**
 * A client's send queue: collected in a turn, written in order, and reported when it is too full and when it is empty.
 */
import t from 'tap';
import { FlushScheduler, SendQueue, type WritableConnection } from '../../../src/realtime/wire/send-queue.ts';
import { unbounded } from '../../helpers/unbounded.ts';

/** A connection that keeps its input until it is released, and counts 16 KiB as enough. */
class Line implements WritableConnection {
  writableLength = 0;
  writable = true;
  readonly written: string[] = [];
  corks = 0;
  #drain: () => void = () => {};
  cork(): void {
    this.corks += 1;
  }
  uncork(): void {}
  write(chunk: Buffer): boolean {
    this.written.push(chunk.toString('latin1', 0, 3));
    this.writableLength += chunk.length;
    return this.writableLength < 16_384;
  }
  on(_event: 'drain', listener: () => void): void {
    this.#drain = listener;
  }
  letGo(): void {
    this.writableLength = 0;
    this.#drain();
  }
}

function open() {
  const line = new Line();
  const turns = new FlushScheduler();
  const queue = new SendQueue(line, turns, unbounded());
  const heard: string[] = [];
  queue.onFull = () => heard.push('full');
  queue.onDrained = () => heard.push('drained');
  const push = (text: string, bytes = 3) => queue.push(Buffer.from(text.padEnd(bytes, '.')));
  return { line, turns, queue, heard, push };
}

t.test('chunks of one turn are sent in order and in one write', async (t) => {
  const { line, turns, queue, push } = open();
  push('one');
  turns.flush();
  t.equal(line.corks, 0, 'one alone needs no cork');
  for (const text of ['two', 'thr', 'fou']) push(text);
  t.equal(queue.queuedBytes, 12);
  turns.flush();
  turns.flush();
  t.strictSame(line.written, ['one', 'two', 'thr', 'fou']);
  t.equal(line.corks, 1);
  t.equal(queue.queuedBytes, 12, 'nothing waits here, all of it in the line');
});

t.test('more than 1 MiB is too much, until all of it is written', async (t) => {
  const { line, turns, queue, heard, push } = open();
  push('few', 500_000);
  turns.flush();
  t.strictSame(heard, []);
  push('mor', 600_000);
  turns.flush();
  push('still');
  turns.flush();
  t.strictSame(heard, ['full'], 'reported once');
  const ready = queue.ready(new AbortController().signal);
  line.letGo();
  await ready;
  t.strictSame(heard, ['full', 'drained']);
  for (let n = 0; n < 3; n++) push('man', 400_000);
  turns.flush();
  t.strictSame(heard, ['full', 'drained', 'full'], 'many in one turn as well');
});

t.test('nothing is written to an ended connection, or after the close', async (t) => {
  const { line, turns, queue, push } = open();
  push('one');
  line.writable = false;
  turns.flush();
  line.writable = true;
  turns.flush();
  push('two');
  queue.close();
  push('thr');
  turns.flush();
  t.strictSame(line.written, []);
  t.equal(queue.queuedBytes, 0);
});

t.test('a shared chunk is not counted here, and released when it has left', async (t) => {
  const line = new Line();
  const turns = new FlushScheduler();
  const account = unbounded();
  const queue = new SendQueue(line, turns, account);
  const released: string[] = [];
  queue.push(Buffer.alloc(10_000));
  queue.pushShared(Buffer.alloc(100_000), () => released.push('first'));
  queue.pushShared(Buffer.alloc(100_000), () => released.push('second'));
  queue.push(Buffer.alloc(5_000));
  turns.flush();
  t.equal(account.held, 15_000);
  line.writableLength = 55_000;
  queue.push(Buffer.alloc(1_000));
  turns.flush();
  t.strictSame(released, ['first']);
  t.equal(account.held, 6_000, 'the rest of the second one is not counted either');
  line.letGo();
  t.strictSame(released, ['first', 'second']);
  queue.pushShared(Buffer.alloc(100_000), () => released.push('third'));
  turns.flush();
  queue.close();
  queue.pushShared(Buffer.alloc(1), () => released.push('fourth'));
  t.strictSame(released, ['first', 'second', 'third', 'fourth']);
  t.equal(account.held, 0);
});
