/** What the routes of this folder read from a request besides its path. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { type LanguageCode, negotiateLanguage } from '../../email/locales/locales.ts';
import { MillraceError } from '../../lib/errors.ts';
import { parseQueryParameters } from '../../lib/request.ts';
import type { Principal } from '../identity/principal.ts';
import type { SessionOrigin } from '../sessions/session.ts';
import { MAX_METADATA_BYTES } from './request-schemas.ts';

/** Rejects requests with parameters on every route of the context, with MillraceError `unknown-parameter`. */
export function rejectAllQueryParameters(app: FastifyInstance): void {
  app.addHook('onRequest', async (request) => {
    parseQueryParameters(request, []);
  });
}

/** The client of a request, for the session it opens. */
export function sessionOriginOf({ ip, id, headers }: Pick<FastifyRequest, 'ip' | 'id' | 'headers'>): SessionOrigin {
  return { ip, userAgent: headers['user-agent'] ?? null, request: id };
}

/** The language that a client prefers for e-mails; null when it names no supported one. */
export function preferredLanguage({ headers }: Pick<FastifyRequest, 'headers'>): LanguageCode | null {
  return negotiateLanguage(headers['accept-language']);
}

/** A signed-in user. */
export type SignedInPrincipal = Extract<Principal, { kind: 'user' | 'admin' }>;

/** @throws MillraceError `not-authenticated`, `forbidden` for keys, which have no user */
export function requireUser(principal: Principal): SignedInPrincipal {
  if (principal.kind === 'user' || principal.kind === 'admin') return principal;
  if (principal.kind === 'key') throw new MillraceError('forbidden', 'An API key has no user and no sessions');
  throw new MillraceError('not-authenticated', 'Sign in to use this', {
    headers: { 'www-authenticate': 'Bearer realm="millrace"' },
  });
}

/** @throws MillraceError `invalid-body` for a profile or claims that are too large */
export function requireMetadataSize(field: string, value: object | undefined): void {
  if (value === undefined || Buffer.byteLength(JSON.stringify(value)) <= MAX_METADATA_BYTES) return;
  const detail = `As JSON it has more than ${MAX_METADATA_BYTES} bytes`;
  throw new MillraceError('invalid-body', `The field '${field}' is too large`, {
    issues: [{ pointer: `/${field}`, code: 'invalid-body', detail }],
  });
}
