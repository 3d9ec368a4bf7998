/** Where the suite of all senders plays: a sender with one endpoint, and its receiver. */
import type { Test } from 'tap';
import type { EndpointTarget } from '../../../../src/webhooks/endpoint/endpoint.ts';
import { newEndpoint } from '../../../helpers/webhooks/endpoints.ts';
import { type IdOf, type Receiver, startReceiver } from '../../../helpers/webhooks/receiver.ts';
import type { OpenWorld, SenderTraits, SenderWorld } from '../../../helpers/webhooks/sender-world.ts';

export const SECOND = 1_000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;

export interface Scene extends SenderWorld {
  readonly receiver: Receiver;
  readonly endpoint: EndpointTarget;
}

/** Opens a sender of its own for a test. @param changes of the endpoint */
export type MakeScene = (t: Test, changes?: Partial<EndpointTarget>) => Promise<Scene>;

/** Where the sender does not make the requests, only the body says which event it is. */
const idOfBody: IdOf = ({ body }) => /"id":"([^"]+)"/.exec(body)?.[1] ?? '';

export function scenes(open: OpenWorld, { makesRequests }: SenderTraits): MakeScene {
  return async (t, changes = {}) => {
    const started = makesRequests ? startReceiver(t) : startReceiver(t, idOfBody);
    const [world, receiver] = await Promise.all([open(t), started]);
    const endpoint = newEndpoint(receiver.url, changes);
    await world.sender.ensureEndpoint(endpoint);
    return { ...world, receiver, endpoint };
  };
}
