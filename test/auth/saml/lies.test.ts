/** What a SAML provider, or an attacker in between, may send that must not sign in. Each for its own reason. */
import t from 'tap';
import { newBrowser } from '../../helpers/providers/sign-in-fixture.ts';
import { certifiedAgain, samlKeys } from '../../helpers/saml/certificate.ts';
import { byHand, samlFixture } from '../../helpers/saml/saml-fixture.ts';
import { FACT_LIES, signatureLies, TEXT_LIES } from '../../helpers/saml/saml-lies.ts';
import type { Forgery } from '../../helpers/saml/saml-provider.ts';
import { WRAPPINGS } from '../../helpers/saml/wrappings.ts';

const REFUSED = 'provider-response-invalid';
/** Days from now between which the certificate of the provider's own key is valid. */
const DAYS: Readonly<Record<string, { from: number; until: number }>> = {
  'an expired certificate of the right key': { from: -20, until: -1 },
  'a certificate of the right key that is not good yet': { from: 1, until: 20 },
};

t.test('forged and altered responses are rejected', async (t) => {
  const fixture = await samlFixture(t);
  const { provider } = fixture;
  await fixture.provideSaml();
  const honest = async () => {
    provider.lie = {};
    return (await fixture.enter('acme')).statusCode;
  };
  t.equal(await honest(), 200, 'an honest answer is taken');

  const lies: Readonly<Record<string, Forgery>> = {
    ...FACT_LIES,
    ...signatureLies(provider.keys),
    ...TEXT_LIES,
    ...WRAPPINGS,
  };
  for (const [name, lie] of Object.entries(lies)) {
    await t.test(`rejected: ${name}`, async (t) => {
      const days = DAYS[name];
      if (days !== undefined) {
        const dead = certifiedAgain(provider.keys, days);
        await fixture.provideSaml({ ...byHand(provider), certificates: [dead.certificate, samlKeys().certificate] });
      }
      provider.lie = lie;
      const { error, code } = await fixture.outcome('acme', undefined, newBrowser());
      t.equal(error, REFUSED);
      t.equal(code, undefined);
      t.match(await fixture.reason(), lie.reason);
      if (days !== undefined) await fixture.provideSaml();
    });
  }
  t.equal(await honest(), 200, 'and an honest one after all of them');
});
