/** Synchronizes one endpoint to Svix: compares it, and changes only differences. */
import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { EndpointOut, Svix } from 'svix';
import type { EndpointDeliverySettings, SigningSecret } from '../../endpoint/endpoint.ts';
import { type SvixApi, SvixError } from './svix-api.ts';
import { rotateSvixSecrets } from './svix-secrets.ts';

type EndpointUpdate = Parameters<Svix['endpoint']['upsert']>[2];

const DESCRIPTION = 'Kept by Millrace: change it there';
const PAGE = 250;
/** Svix accepts whole messages per second. */
const MAX_RATE = 65_535;

/**
 * Makes the endpoint at Svix equal to the local one.
 * @param now milliseconds since 1970
 * @throws SvixError
 */
export async function syncSvixEndpoint(
  api: SvixApi,
  app: string,
  target: EndpointDeliverySettings,
  now: number,
): Promise<void> {
  const { id, url } = target;
  const found = await existing(api, app, id);
  const live = liveSecrets(target, now);
  if (found === null) {
    await createEndpoint(api, app, target, now);
    return;
  }
  const requested = { ...requestedOf(target), metadata: found.metadata };
  const reported = await fixHeaders(api, app, target);
  // Svix reloads its endpoints after this call, and not after one that sets headers.
  if (reported || !isDeepStrictEqual(shapeOf(found), shapeOf({ ...found, ...requested, url }))) {
    await api.call((svix) => svix.endpoint.upsert(app, id, requested));
  }
  const setMetadata = upsertingMetadata(api, app, id, requested);
  if (await rotateSvixSecrets({ api, app, id, now, metadata: found.metadata, setMetadata }, live)) return;
  await replaceEndpoint(api, app, { target, found, now });
}

/**
 * @param name its uid at Svix; null for one that gets it later
 * @returns its id at Svix
 */
async function createEndpoint(
  api: SvixApi,
  app: string,
  target: EndpointDeliverySettings,
  now: number,
  name: string | null = target.id,
): Promise<string> {
  const { headers } = target;
  const live = liveSecrets(target, now);
  // The oldest secret first, so that the later ones can replace it one by one.
  const secret = live.at(-1)?.secret ?? null;
  const { uid: _, ...requested } = { ...requestedOf(target), metadata: {} };
  const named = name === null ? requested : { ...requested, uid: name };
  // The open-source server does not accept headers with a new endpoint. Nothing must be sent without them.
  const hasHeaders = Object.keys(headers).length > 0;
  const options = { idempotencyKey: `endpoint.${target.id}.${randomUUID()}` };
  const first = { ...named, disabled: named.disabled || hasHeaders, secret };
  const { id } = await api.call((svix) => svix.endpoint.create(app, first, options));
  if (hasHeaders) {
    await api.call((svix) => svix.endpoint.setHeaders(app, id, { headers: { ...headers } }));
    await api.call((svix) => svix.endpoint.upsert(app, id, named));
  }
  const setMetadata = upsertingMetadata(api, app, id, named);
  await rotateSvixSecrets({ api, app, id, now, metadata: {}, setMetadata }, live);
  return id;
}

function upsertingMetadata(api: SvixApi, app: string, id: string, requested: EndpointUpdate) {
  return async (metadata: Readonly<Record<string, string>>): Promise<void> => {
    await api.call((svix) => svix.endpoint.upsert(app, id, { ...requested, metadata: { ...metadata } }));
  };
}

/**
 * Replaces an endpoint that would sign with expired secrets by a new one. For a moment both receive messages, so that
 * none is lost. If this is interrupted, `removeUnknownEndpoints` removes the one without a uid.
 */
async function replaceEndpoint(
  api: SvixApi,
  app: string,
  {
    target,
    found,
    now,
  }: { readonly target: EndpointDeliverySettings; readonly found: EndpointOut; readonly now: number },
): Promise<void> {
  const id = await createEndpoint(api, app, target, now, null);
  const { metadata } = await api.call((svix) => svix.endpoint.get(app, id));
  await removeSvixEndpoint(api, app, found.id);
  await api.call((svix) => svix.endpoint.upsert(app, id, { ...requestedOf(target), metadata }));
}

function liveSecrets({ secrets }: EndpointDeliverySettings, now: number): readonly SigningSecret[] {
  return secrets.filter(({ until }) => until === null || until > now);
}

/** Removes the endpoint at Svix. @throws SvixError */
export async function removeSvixEndpoint(api: SvixApi, app: string, id: string): Promise<void> {
  await orNull(api.call((svix) => svix.endpoint.delete(app, id)));
}

/**
 * Removes unknown endpoints at Svix.
 * @param storedIds called after Svix's list was read, so that a new endpoint is not removed
 * @throws SvixError
 */
export async function removeUnknownEndpoints(
  api: SvixApi,
  app: string,
  storedIds: () => Promise<readonly string[]>,
): Promise<void> {
  const all: EndpointOut[] = [];
  for (let iterator: string | null = null, done = false; !done; ) {
    const page = await api.call((svix) => svix.endpoint.list(app, { limit: PAGE, iterator }));
    all.push(...page.data);
    iterator = page.iterator ?? null;
    done = page.done || iterator === null;
  }
  const ids = new Set(await storedIds());
  for (const { id, uid } of all) {
    if (uid === undefined || uid === null || !ids.has(uid)) await removeSvixEndpoint(api, app, id);
  }
}

async function existing(api: SvixApi, app: string, id: string): Promise<EndpointOut | null> {
  return await orNull(api.call((svix) => svix.endpoint.get(app, id)));
}

/** Null if it does not exist there. */
async function orNull<T>(requested: Promise<T>): Promise<T | null> {
  return await requested.catch((error: unknown) => {
    if (error instanceof SvixError && error.kind === 'missing') return null;
    throw error;
  });
}

function requestedOf({ id, url, ratePerSecond, enabled }: EndpointDeliverySettings) {
  return {
    uid: id,
    url,
    description: DESCRIPTION,
    channels: [id],
    eventTypes: null,
    disabled: !enabled,
    throttleRate: ratePerSecond === null ? null : Math.min(Math.max(1, Math.floor(ratePerSecond)), MAX_RATE),
  };
}

/** The fields of an endpoint that Millrace controls, normalized. */
function shapeOf({
  url,
  description,
  channels,
  eventTypes,
  disabled,
  throttleRate,
  uid,
}: Omit<EndpointOut, 'metadata'>) {
  return {
    uid,
    url: new URL(url).href,
    description,
    channels: channels ?? [],
    eventTypes: eventTypes ?? [],
    disabled: disabled ?? false,
    throttleRate: throttleRate ?? null,
  };
}

/**
 * Svix hides the values of some headers, such as `authorization`: these are sent each time.
 * @returns whether anything was sent
 */
async function fixHeaders(api: SvixApi, app: string, { id, headers }: EndpointDeliverySettings): Promise<boolean> {
  const { headers: found, sensitive } = await api.call((svix) => svix.endpoint.getHeaders(app, id));
  const lower = Object.fromEntries(Object.entries(found).map(([name, value]) => [name.toLowerCase(), value]));
  if (sensitive.length === 0 && isDeepStrictEqual(lower, { ...headers })) return false;
  await api.call((svix) => svix.endpoint.setHeaders(app, id, { headers: { ...headers } }));
  return true;
}
