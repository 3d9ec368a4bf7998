/**
 * The secrets of an endpoint at Svix. Svix signs with the newest one and with those before it until their grace time ends, shows
 * only the newest, and takes back none. So Millrace notes in the endpoint's metadata there which ones it has left to their grace
 * time.
 */
import { hash, randomUUID } from 'node:crypto';
import type { LiveSecret } from '../../endpoint/endpoint.ts';
import { type SvixApi, SvixFault } from './svix-api.ts';

/** A secret that still signs at Svix besides the newest one. */
interface OldSecret {
  /** The beginning of its SHA-256. */
  readonly print: string;
  /** Milliseconds since 1970. */
  readonly until: number;
}

export interface SecretsOwner {
  readonly api: SvixApi;
  readonly app: string;
  /** The endpoint, by its id or uid. */
  readonly id: string;
  /** Milliseconds since 1970. */
  readonly now: number;
  readonly metadata: Metadata;
  /** Stores metadata of the endpoint at Svix. */
  readonly setMetadata: (metadata: Metadata) => Promise<void>;
}

type Metadata = Readonly<Record<string, string>>;

const NOTE = 'millrace-secrets';
const SECOND = 1_000;
/** Svix counts whole seconds, from when it gets the request. */
const LATER_MS = 30 * SECOND;

/**
 * Rotates until the newest secret signs. The ones before it sign for as long as they do here.
 * @param live the newest first
 * @returns false when Svix would sign longer with a secret than it should: only another endpoint can end that
 * @throws SvixFault
 */
export async function rotateSecrets(owner: SecretsOwner, live: readonly LiveSecret[]): Promise<boolean> {
  const { api, app, id, now, metadata } = owner;
  const [newest, ...before] = live;
  if (newest === undefined) return true;
  let old = notedIn(metadata).filter(({ until }) => until > now);
  const ends = new Map(before.map(({ secret, until }) => [printOf(secret), (until ?? now) + LATER_MS]));
  if (old.some(({ print, until }) => until > (ends.get(print) ?? 0))) return false;
  const { key } = await api.call((svix) => svix.endpoint.getSecret(app, id));
  const present = bare(key);
  const at = live.findIndex(({ secret }) => bare(secret) === present);
  // One that Millrace does not know ends at once. The oldest goes first, so that each one is signed with for its time.
  const steps = (at === -1 ? live : live.slice(0, at)).toReversed();
  let graceMs = at === -1 ? 0 : (live[at]?.until ?? now) - now;
  let last = present;
  try {
    for (const { secret, until } of steps) {
      if (graceMs > 0) {
        const left = { print: printOf(last), until: now + graceMs };
        old = [...old.filter(({ print }) => print !== left.print), left];
        // Noted first: one that is noted and does not sign does no harm.
        await note(owner, old);
      }
      await rotate(owner, secret, graceMs);
      last = bare(secret);
      graceMs = (until ?? now) - now;
    }
    return true;
  } catch (error) {
    // Svix keeps ten old secrets at most.
    if (error instanceof SvixFault && error.kind === 'refused') return false;
    throw error;
  }
}

async function rotate({ api, app, id }: SecretsOwner, secret: string, graceMs: number): Promise<void> {
  const gracePeriodSeconds = Math.max(0, Math.ceil(graceMs / SECOND));
  const options = { idempotencyKey: `secret.${id}.${randomUUID()}` };
  await api.call((svix) => svix.endpoint.rotateSecret(app, id, { key: secret, gracePeriodSeconds }, options));
}

async function note({ metadata, setMetadata }: SecretsOwner, old: readonly OldSecret[]): Promise<void> {
  await setMetadata({ ...metadata, [NOTE]: old.map(({ print, until }) => `${print}:${until}`).join(' ') });
}

function notedIn(metadata: Metadata): readonly OldSecret[] {
  return [...(metadata[NOTE] ?? '').matchAll(/(\w+):(\d+)/g)].map(([, print = '', until]) => ({
    print,
    until: Number(until),
  }));
}

function printOf(secret: string): string {
  return hash('sha256', bare(secret)).slice(0, 16);
}

/** Svix shows secrets with and without their prefix. */
const bare = (secret: string): string => secret.replace(/^whsec_/, '');
