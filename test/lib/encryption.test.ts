/** Encrypted secrets: encrypted with the first key, decrypted by any, for their purpose only. */
import { randomBytes } from 'node:crypto';
import t from 'tap';
import { DecryptionError, Encryption, parseMasterKeys } from '../../src/lib/encryption.ts';

t.test('an encrypted secret', async (t) => {
  const [old, key] = [randomBytes(32), randomBytes(32)];
  const encryption = new Encryption([key, old]);
  const encrypted = encryption.encrypt('a secret ✓', 'this');
  t.match(encrypted, /^enc1\.[\w-]{8}\.[\w-]+$/);
  t.notMatch(Buffer.from(encrypted.split('.')[2] ?? '', 'base64url').toString('latin1'), 'secret');
  t.not(encryption.encrypt('a secret ✓', 'this'), encrypted, 'never the same twice');
  t.equal(encryption.open(encrypted, 'this'), 'a secret ✓');
  t.throws(() => encryption.open(encrypted, 'that'), DecryptionError, 'for this, not for that');
  t.throws(() => new Encryption([old]).open(encrypted, 'this'), DecryptionError, 'with the key, not another');
  t.throws(() => new Encryption([]).open(encrypted, 'this'), DecryptionError);
  for (const index of [20, 40, encrypted.length - 1]) {
    const other = encrypted[index] === 'A' ? 'B' : 'A';
    const changed = encrypted.slice(0, index) + other + encrypted.slice(index + 1);
    if (Buffer.from(changed, 'base64url').equals(Buffer.from(encrypted, 'base64url'))) continue;
    t.throws(() => encryption.open(changed, 'this'), DecryptionError, `changed at offset ${index}`);
  }
  const before = new Encryption([old]).encrypt('x', 'this');
  t.equal(encryption.open(before, 'this'), 'x', 'a value of an older key decrypts');
  t.ok(encryption.isStale(before));
  t.ok(encryption.isStale('plain'));
  t.notOk(encryption.isStale(encrypted));
  const none = new Encryption([]);
  t.equal(none.open(none.encrypt('x', 'this'), 'this'), 'x');
  t.notOk(none.isStale('x'));
});

t.test('master keys have 32 bytes', async (t) => {
  const [one, two] = [randomBytes(32).toString('base64'), randomBytes(32).toString('base64url')];
  t.equal(parseMasterKeys(`${one}, ${two}`)?.length, 2);
  for (const bad of ['', 'short', randomBytes(31).toString('base64'), `${one},`, `${one} ${two}`]) {
    t.equal(parseMasterKeys(bad), null, bad);
  }
});
