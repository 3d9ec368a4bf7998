/** Creates the sign-in with SAML. It is loaded with the first sign-in of this kind: it loads some 200 modules. */
import type { Mongo } from '../../database/mongo.ts';
import { SamlMetadataCache } from './idp-metadata-cache.ts';
import { SamlClient } from './saml-client.ts';
import { SamlSessionStore } from './saml-session-store.ts';
import { SamlLogOut, type SamlLogOutDeps } from './single-logout.ts';

export interface OpenSamlDeps extends Omit<SamlLogOutDeps, 'known' | 'sessionNames'> {
  readonly egress: ConstructorParameters<typeof SamlMetadataCache>[0];
  readonly mongo: Pick<Mongo, 'log'>;
}

export function openSaml({ egress, mongo, ...parts }: OpenSamlDeps): SamlClient {
  const common = {
    ...parts,
    known: new SamlMetadataCache(egress, parts.now),
    sessionNames: new SamlSessionStore(mongo),
  };
  return new SamlClient({ ...common, logOut: new SamlLogOut(common) });
}
