/** What a SAML provider, or whoever stands between, may answer and must not get in with. Each for its own reason. */
import t from 'tap';
import { newBrowser } from '../../helpers/providers/sign-in-world.ts';
import { certifiedAgain, samlKeys } from '../../helpers/saml/certificate.ts';
import { FACT_LIES, type NamedLie, signatureLies, TEXT_LIES, WRAPPINGS } from '../../helpers/saml/saml-lies.ts';
import { byHand, samlWorld } from '../../helpers/saml/saml-world.ts';

const REFUSED = 'provider-answer-refused';

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
      if (/expired certificate/.test(name)) {
        const old = certifiedAgain(provider.keys, { from: -20, until: -1 });
        await world.provideSaml({ ...byHand(provider), certificates: [old.certificate, samlKeys().certificate] });
      }
      provider.lie = lie;
      const { error, code } = await world.outcome('acme', undefined, newBrowser());
      t.equal(error, REFUSED);
      t.equal(code, undefined);
      t.match(await world.reason(), lie.reason);
      if (/expired certificate/.test(name)) await world.provideSaml();
    });
  }
  t.equal(await honest(), 200, 'and an honest one after all of them');
});
