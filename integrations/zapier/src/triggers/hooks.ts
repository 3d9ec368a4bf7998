/**
 * REST hooks: how a trigger subscribes to events of Millrace and unsubscribes, and how it reads what arrives. Not here: which
 * events (document-trigger.ts, file-uploaded.ts).
 */
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
  /** Its states were too large for a delivery. */
  readonly truncated?: true;
}

/** @param event the event type @returns the hook with its secret, which Zapier keeps as `bundle.subscribeData` */
export async function subscribe(z: ZObject, bundle: Bundle, event: string): Promise<{ id: string }> {
  const filter = parseObject(bundle.inputData['filter'], 'Filter');
  const wanted = Object.keys(filter).length === 0 ? {} : { filter };
  const json = { targetUrl: bundle.targetUrl, event, ...wanted };
  return (await call(z, ['hooks'], { method: 'POST', json })).data;
}

/** A hook that is gone already is unsubscribed. */
export async function unsubscribe(z: ZObject, bundle: Bundle): Promise<object> {
  const id = bundle.subscribeData?.id ?? '';
  await call(z, ['hooks', id], { method: 'DELETE', tolerated: [404] });
  return { id };
}

/**
 * The event that arrived.
 * @throws zapier.errors.HaltedError when somebody else sent it, so far as Zapier hands on what is needed to tell, or when it is no event
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
  if (!isEvent(event)) throw new zapier.errors.HaltedError('What arrived is no event of Millrace, and was ignored.');
  return event;
}

function isEvent(value: unknown): value is HookEvent {
  return typeof value === 'object' && value !== null && 'id' in value && 'type' in value && 'data' in value;
}
