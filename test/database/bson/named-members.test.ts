/** Reading a few members of a stored document: they are what the whole document's are, odd names and damage included. */
import { isDeepStrictEqual } from 'node:util';
import { BSON } from 'mongodb';
import t from 'tap';
import { readNamed } from '../../../src/database/bson/named-members.ts';
import { readStored } from '../../../src/database/bson/stored.ts';
import { element, frame } from '../../helpers/database/bson-parts.ts';
import { randomBson } from '../../helpers/database/random-bson.ts';
import { Random, runSeed } from '../../helpers/random.ts';

const seed = runSeed();
t.comment(`seed ${seed}`);

t.test('named members are read as the whole is, and nothing else is', async (t) => {
  const random = new Random(seed);
  for (let n = 0; n < 200; n++) {
    const bytes = randomBson(random);
    const members = Object.entries(readStored(bytes)).filter(() => random.below(3) === 0);
    const names = members.map(([name]) => Buffer.from(name));
    const read = readNamed(bytes, [...names, Buffer.from('not there')]);
    // Of values with a member named constructor, tap says that they differ.
    t.ok(isDeepStrictEqual(Object.entries(read), members), names.join());
  }
  const wanted = [Buffer.from('a'), Buffer.from('bb')];
  const int = (name: string, value: string) => element(0x10, name, Buffer.from(value, 'hex'));
  const repeated = frame([int('a', '01000000'), int('b', '01000000'), int('bb', '03000000'), int('a', '02000000')]);
  t.strictSame(readNamed(repeated, [Buffer.from('a')]), { a: readStored(repeated)['a'] });
  t.strictSame(readNamed(BSON.serialize({}), wanted), {});
  for (const size of [0, 4, 9, repeated.length - 1]) {
    t.throws(() => readNamed(repeated.subarray(0, size), wanted), { code: 'internal' });
  }
});
