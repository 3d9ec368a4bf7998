/**
 * The transcoder against the object path on random documents, and on damaged bytes. The seed is printed; MILLRACE_SEED
 * repeats a run, MILLRACE_LONG=1 uses twelve times as many documents.
 */
import { isUtf8 } from 'node:buffer';
import t from 'tap';
import { decodeDocument, decodeExactDocument } from '../../src/database/bson/stored-document.ts';
import { encodeDocumentJson, toWireDocument } from '../../src/database/json/json.ts';
import { MillraceError } from '../../src/lib/errors.ts';
import { randomBson } from '../helpers/database/random-bson.ts';
import { Random, runCount, runSeed } from '../helpers/random.ts';

const DOCUMENTS = runCount(8_000, 100_000);
const DAMAGED = runCount(3_000, 10_000);
const seed = runSeed();
// Twenty seconds for the many on an idle machine; a busy one may take its time.
t.setTimeout(240_000);
t.comment(`seed ${seed}`);

const asObjects = (raw: Buffer): string => JSON.stringify(toWireDocument(decodeDocument(raw)));

/** Brings names into JavaScript's order and drops all but the last of repeated ones, as the object path does. */
const asJavaScript = (text: string): string => JSON.stringify(JSON.parse(text));

t.test(
  `the transcoder writes the same JSON as the object path, for ${DOCUMENTS} documents of every type`,
  async (t) => {
    const random = new Random(seed);
    for (let n = 0; n < DOCUMENTS; n++) {
      const odd = n % 2 === 1;
      const raw = randomBson(random, { odd, numberNames: n % 4 > 1 });
      const bytes = encodeDocumentJson(raw);
      const text = bytes.toString();
      const expected = asObjects(raw);
      // Without odd documents and number-like names the order of fields must agree as well.
      const same = text === expected || (n % 4 > 0 && asJavaScript(text) === expected);
      if (same && isUtf8(bytes)) continue;
      t.fail(`document ${n} differs`, { seed, raw: raw.toString('hex'), text, expected });
      break;
    }
    t.pass('all agree');
  },
);

t.test('damaged bytes return an error or JSON, and never anything else', async (t) => {
  const random = new Random(seed + 2);
  let errors = 0;
  for (let n = 0; n < DAMAGED; n++) {
    const raw = randomBson(random, { odd: n % 2 === 1 });
    for (let flips = 1 + random.below(3); flips > 0; flips--) {
      raw[4 + random.below(raw.length - 4)] = random.once(2) ? random.below(256) : random.below(20);
    }
    try {
      JSON.parse(encodeDocumentJson(raw).toString());
      decodeExactDocument(raw);
    } catch (error) {
      if (!(error instanceof MillraceError)) {
        t.fail(`document ${n} gives ${error}`, { seed, raw: raw.toString('hex') });
        break;
      }
      errors++;
    }
  }
  t.ok(errors > DAMAGED / 2, `${errors} of ${DAMAGED} were rejected`);
});
