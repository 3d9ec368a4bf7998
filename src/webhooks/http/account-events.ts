/**
 * What becomes of events of accounts once they are deliveries: their content, a repeated delivery, and a new URL for them are for
 * those who may read accounts now. What counts is the type that the delivery recorded, whatever its endpoint wants today.
 */
import type { Principal } from '../../auth/identity/principal.ts';
import { MillraceError } from '../../kernel/errors.ts';
import { SYSTEM_TYPES } from '../../kernel/event-types.ts';
import { isPlain } from '../../kernel/objects.ts';
import type { Policies } from '../../policies/policies.ts';
import type { Attempt } from '../sending/sender.ts';
import { TEST_TYPE } from './test-delivery.ts';

/** Members of an endpoint that decide what is sent, and to whom. */
const ROUTING = ['url', 'headers', 'types', 'filter'] as const;

export function mayReadAccounts(policies: Pick<Policies, 'find'>, principal: Principal): boolean {
  return policies.find(principal, 'read', 'admin:accounts') !== null;
}

/** Whether events of a type are for those who may read accounts; also of a type of the system that is not known. */
export function isOfAccounts(type: string): boolean {
  return (
    type.startsWith('system.') &&
    type !== TEST_TYPE &&
    (SYSTEM_TYPES.get(type) ?? 'admin:accounts') === 'admin:accounts'
  );
}

/** The same attempts without what a receiver returned: it may repeat what it was sent. */
export function withoutResponses(attempts: readonly Attempt[]): readonly Attempt[] {
  return attempts.map((one) => ({ ...one, response: one.response && { headers: {}, body: '' } }));
}

/** Whether a merge patch of an endpoint changes what is sent, or to whom. */
export function isRouting(patch: unknown): boolean {
  return isPlain(patch) && ROUTING.some((member) => Object.hasOwn(patch, member));
}

/** @param what what was refused, as a sentence */
export function accountsForbidden(what: string): MillraceError {
  return new MillraceError('forbidden', what, { hint: 'It needs the right to read accounts, as admins have it' });
}
