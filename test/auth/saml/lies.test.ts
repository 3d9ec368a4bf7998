/** What a SAML provider, or whoever stands between, may answer and must not get in with. Each for its own reason. */
import t from 'tap';
import { newBrowser } from '../../helpers/providers/sign-in-world.ts';
import { certifiedAgain, samlKeys } from '../../helpers/saml/certificate.ts';
import { FACT_LIES, signatureLies, TEXT_LIES } from '../../helpers/saml/saml-lies.ts';
import type { NamedLie } from '../../helpers/saml/saml-provider.ts';
import { byHand, samlWorld } from '../../helpers/saml/saml-world.ts';
import { WRAPPINGS } from '../../helpers/saml/wrappings.ts';

const REFUSED = 'provider-answer-refused';
/** Days from now between which the certificate of the provider's own key is good. */
const DAYS: Readonly<Record<string, { from: number; until: number }>> = {
  'an expired certificate of the right key': { from: -20, until: -1 },
  'a certificate of the right key that is not good yet': { from: 1, until: 20 },
};

t.test('answers', async (t) => {
  const world = await samlWorld(t);
  const { provider } = world;
  await world.provideSaml();
  const honest = async () => {
    provider.lie = {};
    return (await world.enter('acme')).statusCode;
  };
  t.equal(await honest(), 200, 'an honest answer is taken');

  const lies: Readonly<Record<string, NamedLie>> = {
    ...FACT_LIES,
    ...signatureLies(provider.keys),
    ...TEXT_LIES,
    ...WRAPPINGS,
  };
  for (const [name, lie] of Object.entries(lies)) {
    await t.test(`refused: ${name}`, async (t) => {
      const days = DAYS[name];
      if (days !== undefined) {
        const dead = certifiedAgain(provider.keys, days);
        await world.provideSaml({ ...byHand(provider), certificates: [dead.certificate, samlKeys().certificate] });
      }
      provider.lie = lie;
      const { error, code } = await world.outcome('acme', undefined, newBrowser());
      t.equal(error, REFUSED);
      t.equal(code, undefined);
      t.match(await world.reason(), lie.reason);
      if (days !== undefined) await world.provideSaml();
    });
  }
  t.equal(await honest(), 200, 'and an honest one after all of them');
});
