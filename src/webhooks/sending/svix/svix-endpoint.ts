/**
 * One endpoint at Svix, made like Millrace's: looked at, and changed only where it is otherwise. Not here: when (svix-mirror.ts).
 */
import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { EndpointOut } from 'svix';
import type { EndpointTarget, LiveSecret } from '../../endpoint/endpoint.ts';
import { type SvixApi, SvixFault } from './svix-api.ts';

const DESCRIPTION = 'Kept by Millrace: change it there';
const PAGE = 250;
/** Svix counts whole messages a second. */
const MAX_RATE = 65_535;
const SECOND = 1_000;

/**
 * Makes the endpoint at Svix as it is here.
 * @param now milliseconds since 1970
 * @throws SvixFault
 */
export async function mendEndpoint(api: SvixApi, app: string, target: EndpointTarget, now: number): Promise<void> {
  const { id, headers, url } = target;
  const live = target.secrets.filter(({ until }) => until === null || until > now);
  const wanted = wantedOf(target);
  const found = await existing(api, app, id);
  if (found === null) {
    // The oldest secret first, so that the ones after it can take its place one by one.
    const secret = live.at(-1)?.secret ?? null;
    const options = { idempotencyKey: `endpoint.${id}.${randomUUID()}` };
    await api.call((svix) => svix.endpoint.create(app, { ...wanted, headers: { ...headers }, secret }, options));
  } else {
    if (!isDeepStrictEqual(shapeOf(found), shapeOf({ ...found, ...wanted, url }))) {
      await api.call((svix) => svix.endpoint.upsert(app, id, wanted));
    }
    await mendHeaders(api, app, target);
  }
  await mendSecrets(api, app, id, live, now);
}

/** Svix shall no longer have it. @throws SvixFault */
export async function removeEndpoint(api: SvixApi, app: string, id: string): Promise<void> {
  await orNull(api.call((svix) => svix.endpoint.delete(app, id)));
}

/**
 * Removes what Millrace does not have.
 * @param storedIds asked after Svix's list was read, so that an endpoint that was just made is not removed
 * @throws SvixFault
 */
export async function removeStrangers(
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
    if (uid === undefined || uid === null || !ids.has(uid)) await removeEndpoint(api, app, id);
  }
}

async function existing(api: SvixApi, app: string, id: string): Promise<EndpointOut | null> {
  return await orNull(api.call((svix) => svix.endpoint.get(app, id)));
}

/** What is not there is null. */
async function orNull<T>(asked: Promise<T>): Promise<T | null> {
  return await asked.catch((error: unknown) => {
    if (error instanceof SvixFault && error.kind === 'missing') return null;
    throw error;
  });
}

function wantedOf({ id, url, ratePerSecond, enabled }: EndpointTarget) {
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

/** An endpoint as far as Millrace decides it, in one spelling. */
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

/** Svix does not show the values of some headers, such as `authorization`: these are told each time. */
async function mendHeaders(api: SvixApi, app: string, { id, headers }: EndpointTarget): Promise<void> {
  const { headers: found, sensitive } = await api.call((svix) => svix.endpoint.getHeaders(app, id));
  const lower = Object.fromEntries(Object.entries(found).map(([name, value]) => [name.toLowerCase(), value]));
  if (sensitive.length === 0 && isDeepStrictEqual(lower, { ...headers })) return;
  await api.call((svix) => svix.endpoint.setHeaders(app, id, { headers: { ...headers } }));
}

/**
 * Rotates until the newest secret signs. The ones before it sign for as long as they do here.
 * @param live the newest first
 */
async function mendSecrets(
  api: SvixApi,
  app: string,
  id: string,
  live: readonly LiveSecret[],
  now: number,
): Promise<void> {
  const { key } = await api.call((svix) => svix.endpoint.getSecret(app, id));
  const at = live.findIndex(({ secret }) => bare(secret) === bare(key));
  const rotate = async (secret: string, graceMs: number) => {
    const gracePeriodSeconds = Math.max(0, Math.ceil(graceMs / SECOND));
    const options = { idempotencyKey: `secret.${id}.${randomUUID()}` };
    await api.call((svix) => svix.endpoint.rotateSecret(app, id, { key: secret, gracePeriodSeconds }, options));
  };
  const known = at === -1 ? live.length - 1 : at;
  const oldest = live[known];
  if (at === -1 && oldest !== undefined) await rotate(oldest.secret, 0);
  for (let n = known; n > 0; n -= 1) {
    const next = live[n - 1];
    if (next !== undefined) await rotate(next.secret, (live[n]?.until ?? now) - now);
  }
}

const bare = (secret: string): string => secret.replace(/^whsec_/, '');
