/** A Millrace, a SAML provider, and the administrator's configuration that connects them. */
import type { Test } from 'tap';
import { newBrowser, newClient, type SignInFixture, signInFixture } from '../providers/sign-in-fixture.ts';
import { type SamlProvider, startSamlProvider } from './saml-provider.ts';

export interface SamlFixture extends SignInFixture {
  readonly provider: SamlProvider;
  /** Creates or replaces the provider `acme`; undefined removes a field. */
  provideSaml(saml?: object, more?: object): Promise<void>;
  /** The reason of the newest rejected sign-in, as administrators find it. */
  reason(): Promise<string>;
}

/** Our entity id. */
export const ENTITY = 'https://millrace.example/saml';

export async function samlFixture(t: Test, settings: Readonly<Record<string, string>> = {}): Promise<SamlFixture> {
  const fixture = await signInFixture(t, settings);
  const provider = await startSamlProvider(t);
  return {
    ...fixture,
    provider,
    provideSaml: (saml = {}, more = {}) => {
      const known = { metadataUrl: `${provider.origin}/metadata`, ...saml };
      return fixture.provide({ name: 'acme', kind: 'saml', clientId: ENTITY, register: true, saml: known, ...more });
    },
    reason: async () => {
      const rows = fixture.services.mongo.data.collection<{ _id: string; details: { reason?: string } }>('_activity');
      const [newest] = await rows.find({ type: 'system.auth.failed' }).sort({ _id: -1 }).limit(1).toArray();
      return newest?.details.reason ?? '';
    },
  };
}

/** The fields of a provider without metadata. */
export function byHand({ issuer, origin, keys }: SamlProvider): object {
  return { metadataUrl: undefined, issuer, entryPoint: `${origin}/sso`, certificates: [keys.certificate] };
}

/** Starts a sign-in whose response the provider has not sent yet: the form that a browser would post. */
export async function begunSignIn(fixture: SamlFixture) {
  const [browser, client] = [newBrowser(), newClient()];
  const page = await browser.goto(fixture.beginning('acme', client));
  return { browser, client, page };
}
