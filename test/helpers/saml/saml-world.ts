/** A Millrace, a SAML provider, and what an owner writes to bring them together. */
import type { Test } from 'tap';
import { newBrowser, newClient, type SignInWorld, signInWorld } from '../providers/sign-in-world.ts';
import { type SamlProvider, startSamlProvider } from './saml-provider.ts';

export interface SamlWorld extends SignInWorld {
  readonly provider: SamlProvider;
  /** Makes or replaces the provider `acme`; undefined removes a member. */
  provideSaml(saml?: object, more?: object): Promise<void>;
  /** The reason of the newest refused sign-in, as owners find it. */
  reason(): Promise<string>;
}

/** Our entity id. */
export const ENTITY = 'https://millrace.example/saml';

export async function samlWorld(t: Test, settings: Readonly<Record<string, string>> = {}): Promise<SamlWorld> {
  const world = await signInWorld(t, settings);
  const provider = await startSamlProvider(t);
  return {
    ...world,
    provider,
    provideSaml: (saml = {}, more = {}) => {
      const known = { metadataUrl: `${provider.origin}/metadata`, ...saml };
      return world.provide({ name: 'acme', kind: 'saml', clientId: ENTITY, register: true, saml: known, ...more });
    },
    reason: async () => {
      const rows = world.parts.mongo.data.collection<{ _id: string; details: { reason?: string } }>('_activity');
      const [newest] = await rows.find({ type: 'system.auth.failed' }).sort({ _id: -1 }).limit(1).toArray();
      return newest?.details.reason ?? '';
    },
  };
}

/** The members that name a provider without metadata. */
export function byHand({ issuer, origin, keys }: SamlProvider): object {
  return { metadataUrl: undefined, issuer, entryPoint: `${origin}/sso`, certificates: [keys.certificate] };
}

/** Begins a sign-in whose answer the provider has not sent yet: the form that a browser would post. */
export async function begunSignIn(world: SamlWorld) {
  const [browser, client] = [newBrowser(), newClient()];
  const page = await browser.goto(world.beginning('acme', client));
  return { browser, client, page };
}
