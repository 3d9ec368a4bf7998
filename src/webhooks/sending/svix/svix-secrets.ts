/**
 * The secrets of an endpoint at Svix. Svix signs with the newest one and with previous ones until their grace period
 * ends, shows only the newest, and cannot revoke any. So Millrace records in the endpoint's metadata there which ones
 * are in their grace period.
 */
import { hash, randomUUID } from 'node:crypto';
import type { SigningSecret } from '../../endpoint/endpoint.ts';
import { type SvixApi, SvixError } from './svix-api.ts';

/** A previous secret that still signs at Svix. */
interface OldSecret {
  /** The beginning of its SHA-256. */
  readonly print: string;
  /** Milliseconds since 1970. */
  readonly until: number;
}

export interface SecretRotationDeps {
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
/** Svix uses whole seconds, from when it receives the request. */
const LATER_MS = 30 * SECOND;

/**
 * Rotates until the newest secret signs. The previous ones sign for as long as they do here.
 * @param live newest first
 * @returns false if Svix would sign longer with a secret than it should: only a new endpoint can end that
 * @throws SvixError
 */
export async function rotateSvixSecrets(owner: SecretRotationDeps, live: readonly SigningSecret[]): Promise<boolean> {
  const { api, app, id, now, metadata } = owner;
  const [newest, ...before] = live;
  if (newest === undefined) return true;
  let old = notedIn(metadata).filter(({ until }) => until > now);
  const ends = new Map(before.map(({ secret, until }) => [printOf(secret), (until ?? now) + LATER_MS]));
  if (old.some(({ print, until }) => until > (ends.get(print) ?? 0))) return false;
  const { key } = await api.call((svix) => svix.endpoint.getSecret(app, id));
  const present = bare(key);
  const at = live.findIndex(({ secret }) => bare(secret) === present);
  // A secret unknown to Millrace ends at once. The oldest goes first, so that each one signs for its time.
  const steps = (at === -1 ? live : live.slice(0, at)).toReversed();
  let graceMs = at === -1 ? 0 : (live[at]?.until ?? now) - now;
  let last = present;
  try {
    for (const { secret, until } of steps) {
      if (graceMs > 0) {
        const left = { print: printOf(last), until: now + graceMs };
        old = [...old.filter(({ print }) => print !== left.print), left];
        // Recorded first: a recorded secret that does not sign does no harm.
        await log(owner, old);
      }
      await rotate(owner, secret, graceMs);
      last = bare(secret);
      graceMs = (until ?? now) - now;
    }
    return true;
  } catch (error) {
    // Svix keeps ten old secrets at most.
    if (error instanceof SvixError && error.kind === 'refused') return false;
    throw error;
  }
}

async function rotate({ api, app, id }: SecretRotationDeps, secret: string, graceMs: number): Promise<void> {
  const gracePeriodSeconds = Math.max(0, Math.ceil(graceMs / SECOND));
  const options = { idempotencyKey: `secret.${id}.${randomUUID()}` };
  await api.call((svix) => svix.endpoint.rotateSecret(app, id, { key: secret, gracePeriodSeconds }, options));
}

async function log({ metadata, setMetadata }: SecretRotationDeps, old: readonly OldSecret[]): Promise<void> {
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

/** Svix returns secrets with and without their prefix. */
const bare = (secret: string): string => secret.replace(/^whsec_/, '');
