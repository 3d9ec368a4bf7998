/**
 * `Idempotency-Key` (IETF draft httpapi-idempotency-key-header): the same write sent again has one effect and the same
 * answer. The key and the write commit together, so no crash can separate them. Not here: where keys are kept
 * (key-store.ts).
 */
import { hash } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import { actorOf } from '../../auth/identity/principal.ts';
import { networkOf } from '../../kernel/config/addresses.ts';
import { ERRORS, MillraceError } from '../../kernel/errors.ts';
import type { Atomic } from '../atomic.ts';
import { isAccessRefusal, keyInUse } from '../refusals.ts';
import { type IdempotencyKey, type Kept, type KeyedOutcome, type KeyStore, KeyTaken } from './key-store.ts';
import type { PreparedWrite } from './write-operations.ts';
import type { WriteResponse } from './write-response.ts';

/** What a key is made of. */
export const VISIBLE = /^[\x21-\x7e]{1,255}$/;

/**
 * The key that a request carries, or null.
 * @throws MillraceError `malformed-request` when it is not 1 to 255 visible characters
 */
export function readKey(
  request: Pick<FastifyRequest, 'headers' | 'method' | 'url' | 'principal' | 'rawBody' | 'ip'>,
): IdempotencyKey | null {
  const key = request.headers['idempotency-key'];
  if (key === undefined) return null;
  if (typeof key !== 'string' || !VISIBLE.test(key)) {
    throw new MillraceError('malformed-request', 'Idempotency-Key is not 1 to 255 visible ASCII characters', {
      hint: 'A random UUID is a good key',
    });
  }
  const { principal } = request;
  // Strangers have nothing to be told apart by but where they come from.
  const who = actorOf(principal) ?? `anonymous ${networkOf(request.ip)}`;
  const [path = '', ...query] = request.url.split('?');
  const body = hash('sha256', request.rawBody ?? '', 'base64url');
  return {
    id: hash('sha256', [who, request.method, path, key].join('\n'), 'base64url'),
    fingerprint: hash('sha256', `${query.join('?')}\n${body}`, 'base64url'),
  };
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
      // Nothing was written, so nothing has to commit together with the key.
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
  return repeated(kept.outcome);
}

function repeated(outcome: KeyedOutcome): WriteResponse {
  const replayed = { 'idempotency-replayed': 'true' };
  if ('refusal' in outcome) {
    const { code, message, ...rest } = outcome.refusal;
    throw new MillraceError(code, message, { ...rest, headers: { ...rest.headers, ...replayed } });
  }
  const { answer } = outcome;
  return { ...answer, headers: { ...answer.headers, ...replayed } };
}

/** Refusals that would be the same again. A passing one must not be kept, nor what a policy may allow tomorrow. */
function isFinal(error: unknown): error is MillraceError {
  return (
    error instanceof MillraceError && error.status < 500 && !ERRORS[error.code].retryable && !isAccessRefusal(error)
  );
}
