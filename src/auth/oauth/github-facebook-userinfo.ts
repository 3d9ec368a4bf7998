/**
 * The user information of GitHub and Facebook. They have no id tokens: the access token belongs to the user that signed
 * in, and their own servers return that user over TLS. Sources: GitHub "REST API endpoints for users", Facebook "Graph
 * API".
 */
import { createHmac } from 'node:crypto';
import { type Configuration, fetchProtectedResource } from 'openid-client';
import type { Claims } from '../providers/claims.ts';
import type { Provider } from '../providers/provider.ts';
import { providerResponseInvalid } from './provider-errors.ts';
import { readEmailClaim, type VerifiedIdentity } from './verified-identity.ts';

const FACEBOOK_FIELDS = 'id,name,email,picture';
const JSON_ONLY = { accept: 'application/json' };

/** @throws MillraceError `provider-response-invalid`, and errors of `openid-client` */
export async function fetchOAuthUser(
  provider: Provider,
  config: Configuration,
  token: string,
): Promise<VerifiedIdentity> {
  const request = (url: string) => requestFor(provider.name, config, token, url);
  const { userinfo = '', emails } = provider.endpoints;
  switch (provider.kind) {
    case 'facebook':
      return facebook(provider, request, userinfo, token);
    case 'github':
      return github(provider, request, userinfo, emails);
    default:
      throw new Error(`Providers of kind '${provider.kind}' return id tokens`);
  }
}

type SendRequest = (url: string) => Promise<unknown>;

async function github(
  { name, scopes }: Provider,
  request: SendRequest,
  userinfo: string,
  emails?: string,
): Promise<VerifiedIdentity> {
  const { claims, subject } = about(name, await request(userinfo));
  const mayRequest = emails !== undefined && scopes.some((scope) => scope === 'user' || scope === 'user:email');
  // The e-mail address in the profile is the public one that the user chose, and need not be verified.
  const { email: _, ...rest } = claims;
  const found = mayRequest ? primaryOf(await request(emails)) : null;
  const all = found === null ? rest : { ...rest, email: found, email_verified: true };
  return { subject, claims: all, email: readEmailClaim(all) };
}

async function facebook(
  { name, clientSecret }: Provider,
  request: SendRequest,
  userinfo: string,
  token: string,
): Promise<VerifiedIdentity> {
  const url = new URL(userinfo);
  if (!url.searchParams.has('fields')) url.searchParams.set('fields', FACEBOOK_FIELDS);
  // Proves that the caller with the token also has the client secret; apps can require it ("Securing Graph API
  // requests").
  url.searchParams.set(
    'appsecret_proof',
    createHmac('sha256', clientSecret ?? '')
      .update(token)
      .digest('hex'),
  );
  const { claims, subject } = about(name, await request(url.href));
  // Facebook does not say whether an e-mail address is verified.
  const all = { ...claims, email_verified: false };
  return { subject, claims: all, email: readEmailClaim(all) };
}

async function requestFor(name: string, config: Configuration, token: string, url: string): Promise<unknown> {
  const response = await fetchProtectedResource(config, token, new URL(url), 'GET', null, new Headers(JSON_ONLY));
  if (response.status !== 200)
    throw providerResponseInvalid(name, `the user info request returned status ${response.status}`);
  return response.json();
}

/** GitHub's ids are numbers, Facebook's are strings of digits. */
function about(name: string, response: unknown): { claims: Claims; subject: string } {
  if (!isObject(response)) throw providerResponseInvalid(name, 'user info is not a JSON object');
  const { id } = response;
  const isId = Number.isSafeInteger(id) || (typeof id === 'string' && /^\d+$/.test(id));
  if (!isId) throw providerResponseInvalid(name, 'user info has no id');
  return { claims: response, subject: String(id) };
}

function primaryOf(response: unknown): string | null {
  const list = Array.isArray(response) ? response.filter(isObject) : [];
  const verified = list.filter((one) => one['verified'] === true);
  const chosen = (verified.find((one) => one['primary'] === true) ?? verified[0])?.['email'];
  return typeof chosen === 'string' ? chosen : null;
}

function isObject(value: unknown): value is Claims {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
