/**
 * Restricts deliveries of user events: their content, resending them, and giving them a new URL need the current right
 * to read users. The type recorded with the delivery decides, whatever types its endpoint has today.
 */
import type { Principal } from '../../auth/identity/principal.ts';
import { MillraceError } from '../../lib/errors.ts';
import { SYSTEM_EVENT_TYPES } from '../../lib/event-types.ts';
import { isPlainObject } from '../../lib/plain-object.ts';
import type { Policies } from '../../policies/policies.ts';
import type { Attempt } from '../sending/sender.ts';
import { TEST_EVENT_TYPE } from './create-test-delivery.ts';

/** Fields of an endpoint that decide what is sent, and where. */
const ROUTING = ['url', 'headers', 'types', 'filter'] as const;

export function mayReadUsers(policies: Pick<Policies, 'find'>, principal: Principal): boolean {
  return policies.find(principal, 'read', '_admin:accounts') !== null;
}

/** Whether events of a type need the right to read users; also true for an unknown system type. */
export function isUserEvent(type: string): boolean {
  return (
    type.startsWith('system.') &&
    type !== TEST_EVENT_TYPE &&
    (SYSTEM_EVENT_TYPES.get(type) ?? '_admin:accounts') === '_admin:accounts'
  );
}

/** The same attempts without the receiver's response, which may repeat what it was sent. */
export function omitAttemptResponses(attempts: readonly Attempt[]): readonly Attempt[] {
  return attempts.map((one) => ({ ...one, response: one.response && { headers: {}, body: '' } }));
}

/** Whether a merge patch of an endpoint changes what is sent, or where. */
export function endpointPatchChangesDelivery(patch: unknown): boolean {
  return isPlainObject(patch) && ROUTING.some((field) => Object.hasOwn(patch, field));
}

/** @param what what was rejected, as a sentence */
export function userEventsForbidden(what: string): MillraceError {
  return new MillraceError('forbidden', what, {
    hint: 'It requires permission to read users, which administrators have',
  });
}
