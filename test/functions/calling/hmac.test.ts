/** `ctx.hmac`: the key is a secret in the encoding that the sender of a webhook uses. */
import { createHmac } from 'node:crypto';
import t from 'tap';
import type { HostArguments } from '../../../src/functions/sandbox/host-schemas.ts';
import { callsFixture, returned } from '../../helpers/functions/calls.ts';

t.test('A secret is a key in UTF-8, base64 or hexadecimal, as the function says.', async (t) => {
  const { call } = await callsFixture(t);
  const key = Buffer.from('fb ef be 00 80 ff 41'.replaceAll(' ', ''), 'hex');
  const secrets = {
    UTF8: 'whsec_ä',
    BASE64: key.toString('base64'),
    WHSEC: `whsec_${key.toString('base64')}`,
    URL: key.toString('base64url'),
    HEX: key.toString('hex'),
    UPPER: key.toString('hex').toUpperCase(),
    LINE: `${key.toString('base64')}\n`,
    ODD: 'abc',
    SHORT: 'whsec_A',
    BARE: 'whsec_',
  };
  const hmac = async (argument: Omit<HostArguments['hmac'], 'text'>) =>
    returned(
      await call(
        ({ request }) => request('hmac', { text: 'a text', ...argument }).catch(({ code, message }) => [code, message]),
        {
          plugin: { secrets },
        },
      ),
    );
  const mac = (using: string | Buffer, encoding: 'hex' | 'base64' = 'hex') =>
    createHmac('sha256', using).update('a text').digest(encoding);
  t.equal(await hmac({ secret: 'UTF8' }), mac('whsec_ä'), 'verbatim, as Stripe uses it');
  t.equal(await hmac({ secret: 'UTF8', key: 'utf8' }), mac('whsec_ä'));
  for (const secret of ['BASE64', 'WHSEC', 'URL', 'LINE']) {
    t.equal(await hmac({ secret, key: 'base64', encoding: 'base64' }), mac(key, 'base64'), secret);
  }
  for (const secret of ['HEX', 'UPPER']) t.equal(await hmac({ secret, key: 'hex' }), mac(key), secret);
  for (const [secret, encoding] of [
    ['UTF8', 'base64'],
    ['SHORT', 'base64'],
    ['BARE', 'base64'],
    ['ODD', 'hex'],
    ['WHSEC', 'hex'],
  ] as const) {
    const refused = ['invalid-parameter', `The secret is not valid ${encoding}`];
    t.strictSame(await hmac({ secret, key: encoding }), refused, secret);
  }
  const unknown = { secret: 'HEX', key: 'base32' } as unknown as HostArguments['hmac'];
  t.strictSame(await hmac(unknown), ['invalid-parameter', "'key' must be utf8, base64 or hex"]);
});
