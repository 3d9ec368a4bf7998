/** REST hooks: how a trigger subscribes to events of Millrace, unsubscribes, and parses deliveries. */
import zapier, { type Bundle, type ZObject } from 'zapier-platform-core';
import { call } from '../api/requests.ts';
import { isGenuine } from '../api/signature.ts';
import { parseObject } from '../fields/input-fields.ts';

/** The body of a delivery, docs/webhooks.md. */
export interface HookEvent {
  readonly id: string;
  readonly type: string;
  readonly timestamp: string;
  readonly collection: string | null;
  readonly documentId: string | null;
  readonly data: Readonly<Record<string, unknown>> | null;
  readonly before: Readonly<Record<string, unknown>> | null;
  /** The states were too large for the delivery. */
  readonly truncated?: true;
}

/**
 * @param event the event type
 * @returns the hook with its secret, which Zapier stores as `bundle.subscribeData`
 */
export async function subscribe(z: ZObject, bundle: Bundle, event: string): Promise<{ id: string }> {
  const filter = parseObject(bundle.inputData['filter'], 'Filter');
  const requested = Object.keys(filter).length === 0 ? {} : { filter };
  const json = { targetUrl: bundle.targetUrl, event, ...requested };
  return (await call(z, ['hooks'], { method: 'POST', json })).data;
}

/** Removes the hook. A missing one is not an error. */
export async function unsubscribe(z: ZObject, bundle: Bundle): Promise<object> {
  const id = bundle.subscribeData?.id ?? '';
  await call(z, ['hooks', id], { method: 'DELETE', tolerated: [404] });
  return { id };
}

/**
 * The event of the delivery.
 * @throws zapier.errors.HaltedError when another sender sent it, as far as Zapier passes on the required data, or when it is not
 * an event
 */
export function arrived(bundle: Bundle): HookEvent {
  const { subscribeData, rawRequest } = bundle;
  const secret = subscribeData !== undefined && 'secret' in subscribeData ? subscribeData.secret : undefined;
  const isShown = Object.keys(rawRequest?.headers ?? {}).length > 0;
  if (typeof secret === 'string' && rawRequest !== undefined && isShown && !isGenuine(secret, rawRequest)) {
    throw new zapier.errors.HaltedError(
      'This call was not signed by your Millrace and was ignored. If the secret of the webhook was changed, turn the Zap off and on.',
    );
  }
  const event: unknown = bundle.cleanedRequest;
  if (!isEvent(event)) throw new zapier.errors.HaltedError('The call is not an event of Millrace and was ignored.');
  return event;
}

function isEvent(value: unknown): value is HookEvent {
  return typeof value === 'object' && value !== null && 'id' in value && 'type' in value && 'data' in value;
}
