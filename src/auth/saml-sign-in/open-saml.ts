/** Puts together signing in by SAML. It is loaded with the first sign-in of this kind: it brings some 200 modules. */
import type { Mongo } from '../../database/mongo.ts';
import { KnownSamlProviders } from './known-providers.ts';
import { Saml } from './saml.ts';
import { SamlLogOut, type SamlLogOutParts } from './saml-log-out.ts';
import { SamlSessionStore } from './saml-session-store.ts';

export interface OpenSamlParts extends Omit<SamlLogOutParts, 'known' | 'sessionNames'> {
  readonly egress: ConstructorParameters<typeof KnownSamlProviders>[0];
  readonly mongo: Pick<Mongo, 'log'>;
}

export function openSaml({ egress, mongo, ...parts }: OpenSamlParts): Saml {
  const common = {
    ...parts,
    known: new KnownSamlProviders(egress, parts.now),
    sessionNames: new SamlSessionStore(mongo),
  };
  return new Saml({ ...common, logOut: new SamlLogOut(common) });
}
