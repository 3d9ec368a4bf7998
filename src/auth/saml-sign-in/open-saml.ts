/** Puts together signing in by SAML. It is loaded with the first sign-in of this kind: it brings some 200 modules. */
import { KnownSamlProviders } from './known-providers.ts';
import { Saml, type SamlParts } from './saml.ts';

export interface OpenSamlParts extends Omit<SamlParts, 'known'> {
  readonly egress: ConstructorParameters<typeof KnownSamlProviders>[0];
}

export function openSaml({ egress, ...parts }: OpenSamlParts): Saml {
  return new Saml({ ...parts, known: new KnownSamlProviders(egress, parts.now) });
}
