/**
 * Reading stored documents with yields: the result equals reading at once, wherever it yields, and other work continues
 * within one large document. MILLRACE_LONG=1 reads twenty times as many random documents, MILLRACE_RUNS sets the number.
 */
import { isDeepStrictEqual } from 'node:util';
import { BSON, type Document } from 'bson';
import t from 'tap';
import {
  decodeDocument,
  decodeExactDocument,
  decodeExactDocumentMap,
} from '../../../src/database/bson/stored-document.ts';
import { runCooperatively } from '../../../src/lib/concurrency/cooperative-yield.ts';
import { longestHold } from '../../helpers/longest-hold.ts';
import { runCount } from '../../helpers/random.ts';
import { seeded } from '../../query/random.ts';
import { documentFields, value } from '../../query/random-documents.ts';

const RUNS = runCount(10, 200);

/** Runs with a yield wherever one is possible; returns how many. */
async function paused<T>(work: () => T): Promise<{ readonly result: T; readonly pauses: number }> {
  let pauses = 0;
  const turn = async () => {
    pauses += 1;
  };
  return { result: await runCooperatively(work, turn, 0), pauses };
}

/** A document of short fields, 17 bytes each: most of the time goes into creating the object. */
const wide = (fields = 60_000): Buffer =>
  Buffer.from(BSON.serialize({ _id: 'wide', ...Object.fromEntries(range(fields, (n) => [`m${n * 7}`, n])) }));

function range<T>(length: number, make: (n: number) => T): T[] {
  return Array.from({ length }, (_, n) => make(n));
}

t.test('with a yield wherever one is possible, random documents are read correctly', async (t) => {
  const random = seeded(t);
  let pauses = 0;
  const wrong: unknown[] = [];
  for (let n = 0; n < RUNS; n++) {
    const large = { list: range(300, () => value(random)), rows: range(50, () => documentFields(random)) };
    const document: Document = { _id: n, ...documentFields(random), ...large, inner: { ...large, n } };
    // Two documents in one buffer, at different offsets.
    const [one, other] = [BSON.serialize(document), BSON.serialize({ _id: n, inner: large })];
    const both = Buffer.concat([one, other]);
    const [first, second] = [both.subarray(0, one.length), both.subarray(one.length)];
    for (const read of [decodeDocument, decodeExactDocument, decodeExactDocumentMap]) {
      const expected = safely(() => [read(first), read(second)]);
      const found = await paused(() => safely(() => [read(first), read(second)]));
      if (!isDeepStrictEqual(found.result, expected)) wrong.push({ n, read: read.name, found: found.result, expected });
      pauses += found.pauses;
    }
  }
  t.strictSame(wrong.slice(0, 1), [], `${wrong.length} documents are read otherwise`);
  t.ok(pauses > 25 * RUNS, `${pauses} pauses`);
});

/** The result, or the code of the error: some values cannot be read exactly. */
function safely<T>(work: () => T): T | string {
  try {
    return work();
  } catch (error) {
    if (error instanceof Error && 'code' in error) return String(error.code);
    throw error;
  }
}

t.test('work that begins by reading continues with the same object after each yield', async (t) => {
  const raw = wide();
  const seen = new Set<Document>();
  let calls = 0;
  const { pauses } = await paused(() => {
    calls += 1;
    seen.add(decodeDocument(raw));
    return true;
  });
  t.equal(seen.size, 1);
  t.ok(pauses > 100 && calls === pauses + 1, `${pauses} pauses, ${calls} calls`);
});

t.test('others get their turn while a document of 120,000 fields is read', async (t) => {
  const raw = wide(120_000);
  const inOneGo = () => longestHold(() => runCooperatively(() => decodeDocument(raw)));
  // The first runs compile the code.
  for (let n = 0; n < 5; n++) await inOneGo();
  const atOnce = await longestHold(async () => decodeDocument(raw));
  const held = Math.min(await inOneGo(), await inOneGo());
  t.comment(`${atOnce.toFixed()} ms at one time, ${held.toFixed()} ms in one go`);
  t.ok(held < atOnce / 2, `${held.toFixed()} of ${atOnce.toFixed()} ms in one go`);
});
