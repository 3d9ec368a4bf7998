/** Reading a few fields of a stored document: they equal those of the whole document, odd names and damage included. */
import { isDeepStrictEqual } from 'node:util';
import { BSON } from 'mongodb';
import t from 'tap';
import { decodeNamedFields } from '../../../src/database/bson/partial-decode.ts';
import { decodeDocument } from '../../../src/database/bson/stored-document.ts';
import { element, frame } from '../../helpers/database/bson-parts.ts';
import { randomBson } from '../../helpers/database/random-bson.ts';
import { Random, runSeed } from '../../helpers/random.ts';

const seed = runSeed();
t.comment(`seed ${seed}`);

t.test('named fields are read as in the whole document, and no others', async (t) => {
  const random = new Random(seed);
  for (let n = 0; n < 200; n++) {
    const bytes = randomBson(random);
    const fields = Object.entries(decodeDocument(bytes)).filter(() => random.below(3) === 0);
    const names = fields.map(([name]) => Buffer.from(name));
    const read = decodeNamedFields(bytes, [...names, Buffer.from('not there')]);
    // tap says that values with a field named constructor differ.
    t.ok(isDeepStrictEqual(Object.entries(read), fields), names.join());
  }
  const requested = [Buffer.from('a'), Buffer.from('bb')];
  const int = (name: string, value: string) => element(0x10, name, Buffer.from(value, 'hex'));
  const repeated = frame([int('a', '01000000'), int('b', '01000000'), int('bb', '03000000'), int('a', '02000000')]);
  t.strictSame(decodeNamedFields(repeated, [Buffer.from('a')]), { a: decodeDocument(repeated)['a'] });
  t.strictSame(decodeNamedFields(BSON.serialize({}), requested), {});
  for (const size of [0, 4, 9, repeated.length - 1]) {
    t.throws(() => decodeNamedFields(repeated.subarray(0, size), requested), { code: 'internal' });
  }
});
