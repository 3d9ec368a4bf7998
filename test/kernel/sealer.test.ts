/** Secrets at rest: sealed with the first key, opened by any, for what they were sealed for and nothing else. */
import { randomBytes } from 'node:crypto';
import t from 'tap';
import { parseMasterKeys, SealBroken, Sealer } from '../../src/kernel/sealer.ts';

t.test('a sealed secret', async (t) => {
  const [old, key] = [randomBytes(32), randomBytes(32)];
  const sealer = new Sealer([key, old]);
  const sealed = sealer.seal('a secret ✓', 'this');
  t.match(sealed, /^sealed1\.[\w-]{8}\.[\w-]+$/);
  t.notMatch(Buffer.from(sealed.split('.')[2] ?? '', 'base64url').toString('latin1'), 'secret');
  t.not(sealer.seal('a secret ✓', 'this'), sealed, 'never the same twice');
  t.equal(sealer.open(sealed, 'this'), 'a secret ✓');
  t.throws(() => sealer.open(sealed, 'that'), SealBroken, 'for this, not for that');
  t.throws(() => new Sealer([old]).open(sealed, 'this'), SealBroken, 'with the key, not another');
  t.throws(() => new Sealer([]).open(sealed, 'this'), SealBroken);
  for (const place of [20, 40, sealed.length - 1]) {
    const other = sealed[place] === 'A' ? 'B' : 'A';
    const changed = sealed.slice(0, place) + other + sealed.slice(place + 1);
    if (Buffer.from(changed, 'base64url').equals(Buffer.from(sealed, 'base64url'))) continue;
    t.throws(() => sealer.open(changed, 'this'), SealBroken, `changed at ${place}`);
  }
  const before = new Sealer([old]).seal('x', 'this');
  t.equal(sealer.open(before, 'this'), 'x', 'what an older key sealed opens');
  t.ok(sealer.isStale(before));
  t.ok(sealer.isStale('plain'));
  t.notOk(sealer.isStale(sealed));
  const none = new Sealer([]);
  t.equal(none.open(none.seal('x', 'this'), 'this'), 'x');
  t.notOk(none.isStale('x'));
});

t.test('master keys have 32 bytes', async (t) => {
  const [one, two] = [randomBytes(32).toString('base64'), randomBytes(32).toString('base64url')];
  t.equal(parseMasterKeys(`${one}, ${two}`)?.length, 2);
  for (const bad of ['', 'short', randomBytes(31).toString('base64'), `${one},`, `${one} ${two}`]) {
    t.equal(parseMasterKeys(bad), null, bad);
  }
});
