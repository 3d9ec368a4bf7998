/**
 * `Idempotency-Key` (IETF draft httpapi-idempotency-key-header): the same write sent again has one effect and the same
 * answer. The key and the write commit together, so no crash can separate them. Not here: where keys are kept
 * (key-store.ts).
 */
import { hash } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import { actorOf, type Principal } from '../../auth/identity/principal.ts';
import { isCollectionName } from '../../database/names.ts';
import { networkOf } from '../../kernel/config/addresses.ts';
import { ERRORS, MillraceError } from '../../kernel/errors.ts';
import type { Policies } from '../../policies/policies.ts';
import { hidesFields, reachesAll } from '../../policies/reach.ts';
import { scopeKey } from '../../policies/scope-key.ts';
import type { Atomic } from '../atomic.ts';
import { isAccessRefusal, keyInUse } from '../refusals.ts';
import { type IdempotencyKey, type Kept, type KeyedOutcome, type KeyStore, KeyTaken } from './key-store.ts';
import type { PreparedWrite } from './write-operations.ts';
import type { WriteResponse } from './write-response.ts';

/** What a key is made of. */
export const VISIBLE = /^[\x21-\x7e]{1,255}$/;

/**
 * The key that a request carries, or null.
 * @param names the collections it writes to, as it names them
 * @throws MillraceError `malformed-request` when it is not 1 to 255 visible characters
 */
export function readKey(
  request: Pick<FastifyRequest, 'headers' | 'method' | 'url' | 'principal' | 'rawBody' | 'ip'>,
  names: readonly string[],
  policies: Pick<Policies, 'find'>,
): IdempotencyKey | null {
  const key = request.headers['idempotency-key'];
  if (key === undefined) return null;
  if (typeof key !== 'string' || !VISIBLE.test(key)) {
    throw new MillraceError('malformed-request', 'Idempotency-Key is not 1 to 255 visible ASCII characters', {
      hint: 'A random UUID is a good key',
    });
  }
  const { principal } = request;
  // Anonymous clients can be told apart by their network only.
  const who = actorOf(principal) ?? `anonymous ${networkOf(request.ip)}`;
  const [path = '', ...query] = request.url.split('?');
  const body = hash('sha256', request.rawBody ?? '', 'base64url');
  return {
    id: hash('sha256', [who, request.method, path, key].join('\n'), 'base64url'),
    view: viewOf(principal, names, policies),
    anonymous: principal.kind === 'anonymous',
    fingerprint: hash('sha256', `${query.join('?')}\n${body}`, 'base64url'),
  };
}

/**
 * What the client may read of the collections, as a text to compare; null if an answer must not be shown again in
 * whole. Two anonymous clients of one network cannot be told apart, so an anonymous client gets a text only where every
 * anonymous client reads everything. Rights that hold until a certain time only give null, too.
 */
function viewOf(principal: Principal, names: readonly string[], policies: Pick<Policies, 'find'>): string | null {
  const keys: string[] = [];
  for (const name of new Set(names)) {
    const scope = isCollectionName(name) ? policies.find(principal, 'read', name) : null;
    if (scope === null || scope.until !== null) return null;
    if (principal.kind === 'anonymous' && (!reachesAll(scope) || hidesFields(scope))) return null;
    keys.push(`${name} ${scopeKey(scope)}`);
  }
  return hash('sha256', keys.join('\n'), 'base64url');
}

export class Idempotency {
  readonly #keys: KeyStore;
  readonly #atomic: Atomic;

  constructor(keys: KeyStore, atomic: Atomic) {
    this.#keys = keys;
    this.#atomic = atomic;
  }

  /**
   * Makes the write, or gives the answer it had when it was made before.
   * @throws MillraceError `key-reused`, `key-in-use`, `answer-too-large`, and what the write throws
   */
  async once(key: IdempotencyKey, write: PreparedWrite): Promise<WriteResponse> {
    const before = await this.#keys.find(key.id);
    if (before !== null) return replay(key, before);
    try {
      return await this.#atomic.run(async (within) => {
        await this.#keys.reserve(key, within.session);
        const answer = await write(within);
        await this.#keys.keep(key, answer, within.session);
        return answer;
      });
    } catch (error) {
      if (error instanceof KeyTaken) return this.#replayOther(key);
      if (!isFinal(error)) throw error;
      // The refused write has stored nothing, so the key need not commit together with it.
      const won = await this.#keys.keepRefusal(key, error);
      if (!won) return this.#replayOther(key);
      throw error;
    }
  }

  /** The answer of the request that was faster under the same key. */
  async #replayOther(key: IdempotencyKey): Promise<WriteResponse> {
    const other = await this.#keys.find(key.id);
    if (other === null) throw keyInUse();
    return replay(key, other);
  }
}

function replay(key: IdempotencyKey, kept: Kept): WriteResponse {
  if (kept.fingerprint !== key.fingerprint) {
    throw new MillraceError('key-reused', 'This Idempotency-Key was used for another request', {
      hint: 'Use a new key for a new request, and the same body for the same key',
    });
  }
  const shown = key.view !== null && key.view === kept.view;
  return repeated(kept.outcome, shown ? 'whole' : key.anonymous ? 'status' : 'location');
}

/** @param told how much of the first answer is repeated: all of it, its status and `Location`, or its status alone */
function repeated(outcome: KeyedOutcome, told: 'whole' | 'location' | 'status'): WriteResponse {
  const replayed = { 'idempotency-replayed': 'true' };
  if ('refusal' in outcome) {
    const { code, message, ...rest } = outcome.refusal;
    throw new MillraceError(code, message, { ...rest, headers: { ...rest.headers, ...replayed } });
  }
  const { answer } = outcome;
  if (told === 'whole') return { ...answer, headers: { ...answer.headers, ...replayed } };
  const { location } = answer.headers;
  const place = told === 'location' && location !== undefined ? { location } : {};
  return { status: answer.status === 200 ? 204 : answer.status, headers: { ...place, ...replayed }, body: null };
}

/**
 * True for refusals that a second try would get again. A passing refusal must not be kept, nor one that a policy may
 * lift tomorrow, nor one of a function, which may ask the time.
 */
function isFinal(error: unknown): error is MillraceError {
  if (!(error instanceof MillraceError) || error.status >= 500) return false;
  return !ERRORS[error.code].retryable && !isAccessRefusal(error) && error.code !== 'refused-by-function';
}
