/** Creates the sign-in with SAML. It is loaded with the first sign-in of this kind: it loads some 200 modules. */
import type { Mongo } from '../../database/mongo.ts';
import { KnownSamlProviders } from './idp-metadata-cache.ts';
import { Saml } from './saml-client.ts';
import { SamlSessionStore } from './saml-session-store.ts';
import { SamlLogOut, type SamlLogOutDeps } from './single-logout.ts';

export interface OpenSamlDeps extends Omit<SamlLogOutDeps, 'known' | 'sessionNames'> {
  readonly egress: ConstructorParameters<typeof KnownSamlProviders>[0];
  readonly mongo: Pick<Mongo, 'log'>;
}

export function openSaml({ egress, mongo, ...parts }: OpenSamlDeps): Saml {
  const common = {
    ...parts,
    known: new KnownSamlProviders(egress, parts.now),
    sessionNames: new SamlSessionStore(mongo),
  };
  return new Saml({ ...common, logOut: new SamlLogOut(common) });
}
