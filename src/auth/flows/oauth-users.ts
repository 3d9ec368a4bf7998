/**
 * What GitHub and Facebook say of a user. They have no id tokens: the user that signed in is the owner of the access token,
 * and their own servers are asked over TLS for that user. Sources: GitHub "REST API endpoints for users", Facebook "Graph API". Not here: the
 * exchange of the code (openid.ts), which is also where user info of OpenID Connect is asked.
 */
import { createHmac } from 'node:crypto';
import { type Configuration, fetchProtectedResource } from 'openid-client';
import type { Claims } from '../providers/claims.ts';
import type { Provider } from '../providers/provider.ts';
import { emailOf, type ProvedUser } from './proved-user.ts';
import { answerRefused } from './provider-refusal.ts';

const FACEBOOK_FIELDS = 'id,name,email,picture';
const JSON_ONLY = { accept: 'application/json' };

/** @throws MillraceError `provider-answer-refused`, and errors of `openid-client` */
export async function proveOAuthUser(provider: Provider, config: Configuration, token: string): Promise<ProvedUser> {
  const ask = (url: string) => askFor(provider.name, config, token, url);
  const { userinfo = '', emails } = provider.endpoints;
  return provider.kind === 'facebook'
    ? facebook(provider, ask, userinfo, token)
    : github(provider, ask, userinfo, emails);
}

type Ask = (url: string) => Promise<unknown>;

async function github({ name, scopes }: Provider, ask: Ask, userinfo: string, emails?: string): Promise<ProvedUser> {
  const { claims, subject } = about(name, await ask(userinfo));
  const mayAsk = emails !== undefined && scopes.some((scope) => scope === 'user' || scope === 'user:email');
  // The address in the profile is the one that the user chose to show, and need not be proved.
  const { email: _, ...rest } = claims;
  const found = mayAsk ? primaryOf(await ask(emails)) : null;
  const all = found === null ? rest : { ...rest, email: found, email_verified: true };
  return { subject, claims: all, email: emailOf(all) };
}

async function facebook(
  { name, clientSecret }: Provider,
  ask: Ask,
  userinfo: string,
  token: string,
): Promise<ProvedUser> {
  const url = new URL(userinfo);
  if (!url.searchParams.has('fields')) url.searchParams.set('fields', FACEBOOK_FIELDS);
  // Proves that the caller with the token also has the client secret; apps can demand it ("Securing Graph API requests").
  url.searchParams.set(
    'appsecret_proof',
    createHmac('sha256', clientSecret ?? '')
      .update(token)
      .digest('hex'),
  );
  const { claims, subject } = about(name, await ask(url.href));
  // Facebook does not say whether an address is proved.
  const all = { ...claims, email_verified: false };
  return { subject, claims: all, email: emailOf(all) };
}

async function askFor(name: string, config: Configuration, token: string, url: string): Promise<unknown> {
  const answer = await fetchProtectedResource(config, token, new URL(url), 'GET', null, new Headers(JSON_ONLY));
  if (answer.status !== 200) throw answerRefused(name, `user info was answered with status ${answer.status}`);
  return answer.json();
}

/** GitHub's ids are numbers, Facebook's are texts of digits. */
function about(name: string, answer: unknown): { claims: Claims; subject: string } {
  if (!isObject(answer)) throw answerRefused(name, 'user info is not a JSON object');
  const { id } = answer;
  const isId = Number.isSafeInteger(id) || (typeof id === 'string' && /^\d+$/.test(id));
  if (!isId) throw answerRefused(name, 'user info has no id');
  return { claims: answer, subject: String(id) };
}

function primaryOf(answer: unknown): string | null {
  const list = Array.isArray(answer) ? answer.filter(isObject) : [];
  const verified = list.filter((one) => one['verified'] === true);
  const chosen = (verified.find((one) => one['primary'] === true) ?? verified[0])?.['email'];
  return typeof chosen === 'string' ? chosen : null;
}

function isObject(value: unknown): value is Claims {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
