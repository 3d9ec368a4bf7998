/**
 * Defaults for all providers of a kind: issuer or endpoints, scopes, and which claims describe the profile. A provider
 * can replace each. Pure. Sources: the developer pages of Google, Facebook, Apple and GitHub.
 */
import type { ProviderBody } from './provider-schema.ts';

export interface ProviderPreset {
  /** Issuer of id tokens, whose endpoints are discovered; null where the protocol is plain OAuth 2. */
  readonly issuer: string | null;
  readonly endpoints: Readonly<NonNullable<ProviderBody['endpoints']>>;
  readonly scopes: readonly string[];
  /** Fields of the profile, and the claim of each. */
  readonly profile: Readonly<Record<string, string>>;
}

const FACEBOOK = 'facebook.com/v23.0';

export const PROVIDER_PRESETS: Readonly<Record<ProviderBody['kind'], ProviderPreset>> = {
  google: {
    issuer: 'https://accounts.google.com',
    endpoints: {},
    scopes: ['openid', 'email', 'profile'],
    profile: { name: 'name', picture: 'picture' },
  },
  apple: {
    issuer: 'https://appleid.apple.com',
    endpoints: {},
    scopes: ['name', 'email'],
    profile: { name: 'name' },
  },
  oidc: {
    issuer: null,
    endpoints: {},
    scopes: ['openid', 'email', 'profile'],
    profile: { name: 'name', picture: 'picture' },
  },
  saml: { issuer: null, endpoints: {}, scopes: [], profile: { name: 'name' } },
  github: {
    issuer: null,
    endpoints: {
      authorization: 'https://github.com/login/oauth/authorize',
      token: 'https://github.com/login/oauth/access_token',
      userinfo: 'https://api.github.com/user',
      emails: 'https://api.github.com/user/emails',
    },
    scopes: ['read:user', 'user:email'],
    profile: { name: 'name', picture: 'avatar_url' },
  },
  facebook: {
    issuer: null,
    endpoints: {
      authorization: `https://www.${FACEBOOK}/dialog/oauth`,
      token: `https://graph.${FACEBOOK}/oauth/access_token`,
      userinfo: `https://graph.${FACEBOOK}/me`,
    },
    scopes: ['public_profile', 'email'],
    profile: { name: 'name', picture: '/picture/data/url' },
  },
};
