/** The fixture of the suite: a sender with one endpoint, and its receiver. */
import type { Test } from 'tap';
import type { EndpointDeliverySettings } from '../../../../src/webhooks/endpoint/endpoint.ts';
import { newEndpoint } from '../../../helpers/webhooks/endpoints.ts';
import { type IdOf, type Receiver, startReceiver } from '../../../helpers/webhooks/receiver.ts';
import type { OpenFixture, SenderFixture, SenderTraits } from '../../../helpers/webhooks/sender-fixture.ts';

export const SECOND = 1_000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;

export interface Scene extends SenderFixture {
  readonly receiver: Receiver;
  readonly endpoint: EndpointDeliverySettings;
}

/** Opens a separate sender for a test. @param changes of the endpoint */
export type MakeScene = (t: Test, changes?: Partial<EndpointDeliverySettings>) => Promise<Scene>;

/** If the sender does not make the requests, only the body identifies the event. */
const idOfBody: IdOf = ({ body }) => /"id":"([^"]+)"/.exec(body)?.[1] ?? '';

export function scenes(open: OpenFixture, { makesRequests }: SenderTraits): MakeScene {
  return async (t, changes = {}) => {
    const started = makesRequests ? startReceiver(t) : startReceiver(t, idOfBody);
    const [fixture, receiver] = await Promise.all([open(t), started]);
    const endpoint = newEndpoint(receiver.url, changes);
    await fixture.sender.ensureEndpoint(endpoint);
    return { ...fixture, receiver, endpoint };
  };
}
