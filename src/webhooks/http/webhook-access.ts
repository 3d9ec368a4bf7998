/** Which endpoints a client may use: administrators all, other principals those that they created. */
import type { FastifyRequest } from 'fastify';
import type { Authenticator } from '../../auth/authenticator.ts';
import { type RequestPrincipal, type ResourceAction, stampFromPrincipal } from '../../auth/identity/principal.ts';
import type { ServerMode } from '../../config/config.ts';
import type { ChangeStamp } from '../../database/system-collection.ts';
import { MillraceError } from '../../lib/errors.ts';
import type { Policies } from '../../policies/policies.ts';
import type { Creator } from '../endpoint/endpoint.ts';

export interface WebhookAccess {
  /** The creator recorded with new endpoints. */
  readonly creator: Creator;
  /** The principal whose endpoints it may use; null for all. */
  readonly owner: Creator | null;
  readonly stamp: ChangeStamp;
}

/**
 * @param mode in production anonymous clients own nothing, even with a policy for everyone: they are not one client
 * @throws MillraceError `not-authenticated`, `forbidden`, `policies-unavailable`
 */
export function authorizeWebhookRequest(
  policies: Pick<Policies, 'scope'>,
  mode: ServerMode,
  request: Pick<FastifyRequest, 'principal' | 'id'>,
  action: ResourceAction,
): WebhookAccess {
  const { principal, id } = request;
  const scope = policies.scope(principal, action, '_webhooks');
  if (principal.kind === 'anonymous' && mode === 'production') {
    throw new MillraceError('not-authenticated', 'Webhooks belong to a user or an API key', {
      headers: { 'www-authenticate': 'Bearer realm="millrace"' },
    });
  }
  const creator = creatorOf(principal);
  return { creator, owner: principal.kind === 'admin' ? null : creator, stamp: stampFromPrincipal(scope, id) };
}

/**
 * Checks again the session or key that authenticated a request, after the request created something lasting: a sign-out
 * at the same time may have cleaned up just before.
 * @param undo deletes what was created
 * @throws MillraceError `invalid-token` if the session or key has ended
 */
export async function undoIfCredentialRevoked(
  authenticator: Pick<Authenticator, 'refreshIgnoringExpiry'>,
  { principal }: Pick<FastifyRequest, 'principal'>,
  undo: () => Promise<void>,
): Promise<void> {
  if (principal.kind === 'anonymous') return;
  try {
    await authenticator.refreshIgnoringExpiry(principal);
  } catch (error) {
    if (error instanceof MillraceError && error.code === 'invalid-token') await undo();
    throw error;
  }
}

function creatorOf(principal: RequestPrincipal): Creator {
  return { kind: principal.kind, id: principal.kind === 'anonymous' ? '' : principal.id };
}
