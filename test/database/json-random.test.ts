/**
 * The transcoder against the object path on random documents, whole and with hidden fields, and on damaged bytes. The
 * seed is printed; MILLRACE_SEED repeats a run, MILLRACE_LONG=1 uses twelve times as many documents.
 */
import { isUtf8 } from 'node:buffer';
import { inspect } from 'node:util';
import { BSON, type Document } from 'mongodb';
import t from 'tap';
import { decodeDocument, decodeExactDocument } from '../../src/database/bson/stored-document.ts';
import { encodeDocumentJson, encodeListJson, toWireDocument } from '../../src/database/json/json.ts';
import { MillraceError } from '../../src/lib/errors.ts';
import { selectBsonFields } from '../../src/policies/fields/select-bson-fields.ts';
import { isEmbeddedDocument } from '../../src/query/evaluate/bson-order.ts';
import {
  createFieldTree,
  EMPTY_FIELD_TREE,
  type FieldTree,
  FULL_FIELD_TREE,
  selectFields,
} from '../../src/query/evaluate/field-tree.ts';
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

/** Rules that hide and show fields of the document, at any depth, and names that occur in no document. */
function randomRules(random: Random, document: Document): FieldTree {
  const level = (value: unknown, depth: number): FieldTree => {
    const within = Array.isArray(value) ? value.find((one) => isEmbeddedDocument(one)) : value;
    const names = isEmbeddedDocument(within)
      ? Object.keys(within).filter((name) => name !== '_id' && name !== '_meta')
      : [];
    const ruled = [...names, 'absent', '\ufffd'].filter(() => random.once(2));
    const rules = ruled.map((name): [string, FieldTree] => {
      const below = isEmbeddedDocument(within) && Object.hasOwn(within, name) ? Reflect.get(within, name) : undefined;
      if (depth < 4 && random.once(2)) return [name, level(below, depth + 1)];
      return [name, random.once(2) ? FULL_FIELD_TREE : EMPTY_FIELD_TREE];
    });
    return createFieldTree(random.once(2), new Map(rules));
  };
  const { rest, fields } = level(document, 0);
  return createFieldTree(rest, new Map([...fields, ['_id', FULL_FIELD_TREE], ['_meta', FULL_FIELD_TREE]]));
}

t.test('hidden fields are omitted as if they had been cut from the bytes, and from the objects', async (t) => {
  const random = new Random(seed + 1);
  for (let n = 0; n < DOCUMENTS / 2; n++) {
    const odd = n % 2 === 1;
    const raw = randomBson(random, { odd });
    const document = decodeDocument(raw);
    const fields = randomRules(random, document);
    const text = encodeListJson([raw], { fields }).toString();
    const cut = `[${encodeDocumentJson(selectBsonFields(raw, fields))}]`;
    const expected = `[${JSON.stringify(toWireDocument(selectFields(document, fields)))}]`;
    if (text === cut && (odd || asJavaScript(text) === asJavaScript(expected))) continue;
    t.fail(`document ${n} differs`, {
      seed,
      raw: raw.toString('hex'),
      fields: inspect(fields, false, 9),
      text,
      cut,
      expected,
    });
    break;
  }
  t.pass('all agree');
});

t.test('a rule for a name as it is shown hides bytes that are not UTF-8', async (t) => {
  const raw = Buffer.from(BSON.serialize({ _id: 'x', q: 1, r: 2 }));
  raw[raw.indexOf('q')] = 0xff;
  const fields = createFieldTree(true, new Map([['\ufffd', EMPTY_FIELD_TREE]]));
  t.match(encodeListJson([raw]).toString(), '"\ufffd":1');
  t.match(encodeListJson([raw], { fields }).toString(), /^\[\{"id":"x","r":2,/);
  t.equal(encodeDocumentJson(selectBsonFields(raw, fields)).toString().includes('\ufffd'), false);
});

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
