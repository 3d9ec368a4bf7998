/**
 * `Idempotency-Key` (IETF draft httpapi-idempotency-key-header): a repeated write has one effect and the same response.
 * The key and the write commit together, so a crash cannot separate them.
 */
import { hash } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import { type Principal, toActorId } from '../../auth/identity/principal.ts';
import { clientNetwork } from '../../config/addresses.ts';
import { isCollectionName } from '../../database/parse-collection-name.ts';
import { ERRORS, MillraceError } from '../../lib/errors.ts';
import type { Policies } from '../../policies/policies.ts';
import { hidesFields, includesAllDocuments } from '../../policies/scope-filter.ts';
import { scopeKey } from '../../policies/scope-key.ts';
import { idempotencyKeyInUse, isAccessDenied } from '../document-errors.ts';
import type { TransactionRunner } from '../transaction-runner.ts';
import {
  IdempotencyKeyTaken,
  type IdempotencyStore,
  type IdempotentOutcome,
  type IdempotentRequest,
  type StoredIdempotentOutcome,
} from './idempotency-store.ts';
import type { PreparedWrite } from './write-operations.ts';
import type { WriteResponse } from './write-response.ts';

/** Parts of a key. */
export const IDEMPOTENCY_KEY_PATTERN = /^[\x21-\x7e]{1,255}$/;

/**
 * The key of a request, or null.
 * @param names the collections it writes to, as the request names them
 * @throws MillraceError `malformed-request` when it is not 1 to 255 visible characters
 */
export function readIdempotencyKey(
  request: Pick<FastifyRequest, 'headers' | 'method' | 'url' | 'principal' | 'rawBody' | 'ip'>,
  names: readonly string[],
  policies: Pick<Policies, 'find'>,
): IdempotentRequest | null {
  const key = request.headers['idempotency-key'];
  if (key === undefined) return null;
  if (typeof key !== 'string' || !IDEMPOTENCY_KEY_PATTERN.test(key)) {
    throw new MillraceError('malformed-request', 'Idempotency-Key is not 1 to 255 visible ASCII characters', {
      hint: 'A random UUID is a good key',
    });
  }
  const { principal } = request;
  // Only their network distinguishes anonymous clients.
  const who = toActorId(principal) ?? `anonymous ${clientNetwork(request.ip)}`;
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
 * What the client may read of the collections, as text to compare; null if a response must not be repeated in full. Two
 * anonymous clients of one network are indistinguishable, so an anonymous client gets a text only where every anonymous
 * client reads everything. Rights that end at a certain time also give null.
 */
function viewOf(principal: Principal, names: readonly string[], policies: Pick<Policies, 'find'>): string | null {
  const keys: string[] = [];
  for (const name of new Set(names)) {
    const scope = isCollectionName(name) ? policies.find(principal, 'read', name) : null;
    if (scope === null || scope.until !== null) return null;
    if (principal.kind === 'anonymous' && (!includesAllDocuments(scope) || hidesFields(scope))) return null;
    keys.push(`${name} ${scopeKey(scope)}`);
  }
  return hash('sha256', keys.join('\n'), 'base64url');
}

export class Idempotency {
  readonly #keys: IdempotencyStore;
  readonly #atomic: TransactionRunner;

  constructor(keys: IdempotencyStore, atomic: TransactionRunner) {
    this.#keys = keys;
    this.#atomic = atomic;
  }

  /**
   * Executes the write, or returns the stored response of its first execution.
   * @throws MillraceError `idempotency-key-reused`, `idempotency-key-in-use`, `response-too-large`, and what the write
   * throws
   */
  async once(key: IdempotentRequest, write: PreparedWrite): Promise<WriteResponse> {
    const before = await this.#keys.find(key.id);
    if (before !== null) return replay(key, before);
    try {
      return await this.#atomic.run(async (within) => {
        await this.#keys.reserve(key, within.session);
        const response = await write(within);
        await this.#keys.storeResponse(key, response, within.session);
        return response;
      });
    } catch (error) {
      if (error instanceof IdempotencyKeyTaken) return this.#replayOther(key);
      if (!isFinal(error)) throw error;
      // The rejected write has stored nothing, so the key need not commit together with it.
      const won = await this.#keys.storeRejection(key, error);
      if (!won) return this.#replayOther(key);
      throw error;
    }
  }

  /** The response to the request that was faster with the same key. */
  async #replayOther(key: IdempotentRequest): Promise<WriteResponse> {
    const other = await this.#keys.find(key.id);
    if (other === null) throw idempotencyKeyInUse();
    return replay(key, other);
  }
}

function replay(key: IdempotentRequest, kept: StoredIdempotentOutcome): WriteResponse {
  if (kept.fingerprint !== key.fingerprint) {
    throw new MillraceError('idempotency-key-reused', 'This Idempotency-Key was used for another request', {
      hint: 'Use a new key for a new request, and the same body for the same key',
    });
  }
  const shown = key.view !== null && key.view === kept.view;
  return repeated(kept.outcome, shown ? 'whole' : key.anonymous ? 'status' : 'location');
}

/** @param reported how much of the first response is repeated: all of it, its status and `Location`, or its status alone */
function repeated(outcome: IdempotentOutcome, reported: 'whole' | 'location' | 'status'): WriteResponse {
  const replayed = { 'idempotency-replayed': 'true' };
  if ('refusal' in outcome) {
    const { code, message, ...rest } = outcome.refusal;
    throw new MillraceError(code, message, { ...rest, headers: { ...rest.headers, ...replayed } });
  }
  const { response } = outcome;
  if (reported === 'whole') return { ...response, headers: { ...response.headers, ...replayed } };
  const { location } = response.headers;
  const place = reported === 'location' && location !== undefined ? { location } : {};
  return { status: response.status === 200 ? 204 : response.status, headers: { ...place, ...replayed }, body: null };
}

/**
 * True for rejections that a retry would get again. A temporary rejection is not stored, nor one that depends on
 * policies, nor one of a function, which may depend on the time.
 */
function isFinal(error: unknown): error is MillraceError {
  if (!(error instanceof MillraceError) || error.status >= 500) return false;
  return !ERRORS[error.code].retryable && !isAccessDenied(error) && error.code !== 'rejected-by-function';
}
