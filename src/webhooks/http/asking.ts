/**
 * Who asks for webhooks, and what of them it may reach: owners all of them, everybody else what it made itself. Not here:
 * whether its policies allow the action at all (policies/), and the routes.
 */
import type { FastifyRequest } from 'fastify';
import type { Authenticator } from '../../auth/authenticator.ts';
import { type Action, type ClientPrincipal, stampBy } from '../../auth/identity/principal.ts';
import type { Stamp } from '../../database/system-collection.ts';
import type { Mode } from '../../kernel/config/config.ts';
import { MillraceError } from '../../kernel/errors.ts';
import type { Policies } from '../../policies/policies.ts';
import type { Maker } from '../endpoint/endpoint.ts';

export interface Asking {
  /** The maker of what it makes. */
  readonly maker: Maker;
  /** The one maker whose endpoints it reaches; null for those of all. */
  readonly of: Maker | null;
  readonly stamp: Stamp;
}

/**
 * @param mode anonymous clients own nothing in production, even where a policy is for everybody: they are not one client
 * @throws MillraceError `not-authenticated`, `forbidden`, `policies-unavailable`
 */
export function askingFor(
  policies: Pick<Policies, 'scope'>,
  mode: Mode,
  request: Pick<FastifyRequest, 'principal' | 'id'>,
  action: Action,
): Asking {
  const { principal, id } = request;
  const scope = policies.scope(principal, action, 'webhooks');
  if (principal.kind === 'anonymous' && mode === 'production') {
    throw new MillraceError('not-authenticated', 'Webhooks belong to an account or an API key', {
      headers: { 'www-authenticate': 'Bearer realm="millrace"' },
    });
  }
  const maker = makerOf(principal);
  return { maker, of: principal.kind === 'owner' ? null : maker, stamp: stampBy(scope, id) };
}

/**
 * Checks once more the session or key that admitted a request, after the request added something that outlasts it: what ends a
 * session may have looked for that just before.
 * @param undo removes what was added
 * @throws MillraceError `invalid-credential` when the session or key has ended
 */
export async function confirmStanding(
  authenticator: Pick<Authenticator, 'present'>,
  { principal }: Pick<FastifyRequest, 'principal'>,
  undo: () => Promise<void>,
): Promise<void> {
  if (principal.kind === 'anonymous') return;
  try {
    await authenticator.present(principal);
  } catch (error) {
    if (error instanceof MillraceError && error.code === 'invalid-credential') await undo();
    throw error;
  }
}

function makerOf(principal: ClientPrincipal): Maker {
  return { kind: principal.kind, id: principal.kind === 'anonymous' ? '' : principal.id };
}
