/**
 * Reading stored documents in turns: gives what reading at one time gives, wherever it pauses, and lets others have their
 * turn within one large document. MILLRACE_LONG=1 reads four times as many random documents, MILLRACE_RUNS as many as it says.
 */
import { BSON, type Document } from 'bson';
import t from 'tap';
import { decodeOrdered, decodeStored, readStored } from '../../../src/database/bson/stored.ts';
import { inTurns } from '../../../src/kernel/concurrency/pauses.ts';
import { longestHold } from '../../helpers/longest-hold.ts';
import { runCount } from '../../helpers/random.ts';
import { seeded } from '../../query/random.ts';
import { documentMembers, value } from '../../query/random-documents.ts';

const RUNS = runCount(50, 200);

/** Runs with a pause wherever one may come; how many came. */
async function paused<T>(work: () => T): Promise<{ readonly result: T; readonly pauses: number }> {
  let pauses = 0;
  const turn = async () => {
    pauses += 1;
  };
  return { result: await inTurns(work, turn, 0), pauses };
}

/** A document of short members, 17 bytes each: most of the time goes into making the object. */
const wide = (members = 60_000): Buffer =>
  Buffer.from(BSON.serialize({ _id: 'wide', ...Object.fromEntries(range(members, (n) => [`m${n * 7}`, n])) }));

function range<T>(length: number, make: (n: number) => T): T[] {
  return Array.from({ length }, (_, n) => make(n));
}

t.test('with a pause wherever one may come, random documents are read as they are', async (t) => {
  const random = seeded(t);
  let pauses = 0;
  for (let n = 0; n < RUNS; n++) {
    const large = { list: range(300, () => value(random)), rows: range(50, () => documentMembers(random)) };
    const document: Document = { _id: n, ...documentMembers(random), ...large, inner: { ...large, n } };
    // Two documents in one buffer, at places of their own.
    const [one, other] = [BSON.serialize(document), BSON.serialize({ _id: n, inner: large })];
    const both = Buffer.concat([one, other]);
    const [first, second] = [both.subarray(0, one.length), both.subarray(one.length)];
    for (const read of [readStored, decodeStored, decodeOrdered]) {
      const expected = safely(() => [read(first), read(second)]);
      const found = await paused(() => safely(() => [read(first), read(second)]));
      t.strictSame(found.result, expected);
      pauses += found.pauses;
    }
  }
  t.ok(pauses > 25 * RUNS, `${pauses} pauses`);
});

/** What it gives, or the code of the error: some values cannot be read exactly. */
function safely<T>(work: () => T): T | string {
  try {
    return work();
  } catch (error) {
    if (error instanceof Error && 'code' in error) return String(error.code);
    throw error;
  }
}

t.test('work that begins with reading goes on with the same object after each pause', async (t) => {
  const raw = wide();
  const seen = new Set<Document>();
  let calls = 0;
  const { pauses } = await paused(() => {
    calls += 1;
    seen.add(readStored(raw));
    return true;
  });
  t.equal(seen.size, 1);
  t.ok(pauses > 100 && calls === pauses + 1, `${pauses} pauses, ${calls} calls`);
});

t.test('others get their turn while a document of 120,000 members is read', async (t) => {
  const raw = wide(120_000);
  const inOneGo = () => longestHold(() => inTurns(() => readStored(raw)));
  // The first times, the code is compiled.
  for (let n = 0; n < 5; n++) await inOneGo();
  const atOnce = await longestHold(async () => readStored(raw));
  const held = Math.min(await inOneGo(), await inOneGo());
  t.comment(`${atOnce.toFixed()} ms at one time, ${held.toFixed()} ms in one go`);
  t.ok(held < atOnce / 2, `${held.toFixed()} of ${atOnce.toFixed()} ms in one go`);
});
