/**
 * Parses and authorizes writes. Each function parses a request, gets its Scope, and returns a write that can run alone,
 * with an idempotency key or inside a batch, by the same rules. The order of the checks matters: a client without
 * rights cannot learn what exists.
 */
import type { CollectionName } from '../../database/parse-collection-name.ts';
import { mapCooperatively } from '../../lib/concurrency/cooperative-yield.ts';
import { MillraceError } from '../../lib/errors.ts';
import { booleanParameter, parseQueryParameters, type RequestLike, requireMediaType } from '../../lib/request.ts';
import type { Policies } from '../../policies/policies.ts';
import type { Scope } from '../../policies/scope.ts';
import type { BulkWrites } from '../bulk-writes.ts';
import type { Collections } from '../collections.ts';
import { redactIndexError } from '../document-errors.ts';
import type { TransactionContext } from '../open-transaction.ts';
import { toWrittenDocument, visibleDocument } from '../read/document-view.ts';
import { parsePreconditions } from '../store/preconditions.ts';
import type { WriteScopes } from '../write-context.ts';
import { parseBulkTarget } from './bulk-target.ts';
import { type CollectionRequest, requireCollectionScope } from './collection-access.ts';
import { parsePatch } from './patch-request.ts';
import { parseArrayBody, parseObjectBody, rejectPreconditions, toWriteContext } from './request-body.ts';
import {
  toBulkCreateResponse,
  toBulkWriteResponse,
  toDeleteResponse,
  toWriteResponse,
  type WriteResponse,
} from './write-response.ts';

/** A parsed and authorized write that has not run yet. It may run again in a new transaction. */
export type PreparedWrite = (within?: TransactionContext) => Promise<WriteResponse>;

/** One write request that names its operation by its method. */
export interface WriteRequest extends RequestLike, CollectionRequest {
  readonly method: string;
  readonly params: { readonly collection: string; readonly id?: string };
}

/** What a write is read from. */
type Request = RequestLike & CollectionRequest;

export interface WriteDeps {
  readonly collections: Collections;
  readonly bulkWrites: BulkWrites;
  readonly policies: Policies;
}

/** The writes of a collection and of one document, by method. */
const COLLECTION_WRITES = new Map([
  ['DELETE', prepareRemoveMany],
  ['PATCH', preparePatchMany],
  ['POST', prepareCreate],
]);
const DOCUMENT_WRITES = new Map([
  ['DELETE', prepareRemove],
  ['PATCH', preparePatch],
  ['PUT', prepareReplace],
]);

/**
 * Parses a write of a batch or a function, which no router has matched to its operation.
 * @throws MillraceError what is wrong with the request, `not-authenticated`, `forbidden`, `method-not-allowed`
 */
export function prepareWrite(request: WriteRequest, deps: WriteDeps): PreparedWrite {
  const { method, params } = request;
  const { id } = params;
  const prepared =
    id === undefined
      ? COLLECTION_WRITES.get(method)?.(request, deps)
      : DOCUMENT_WRITES.get(method)?.(request, id, deps);
  if (prepared !== undefined) return prepared;
  const allow = [...(id === undefined ? COLLECTION_WRITES : DOCUMENT_WRITES).keys()].join(', ');
  throw new MillraceError('method-not-allowed', `${method.slice(0, 80)} is not possible here`, {
    hint: `Writes that this path supports: ${allow}`,
    headers: { allow },
  });
}

/** Runs a write so that its errors name no field that the writer cannot see. */
function discreetly(reader: Scope<'read'> | null, write: PreparedWrite): PreparedWrite {
  return async (within) => {
    try {
      return await write(within);
    } catch (error) {
      throw redactIndexError(error, reader);
    }
  };
}

/** @throws MillraceError what is wrong with the request, `not-authenticated`, `forbidden` */
export function prepareCreate(request: Request, deps: WriteDeps): PreparedWrite {
  const { collections } = deps;
  parseQueryParameters(request, []);
  rejectPreconditions(request);
  requireMediaType(request, ['application/json']);
  const many = parseArrayBody(request);
  if (many !== null) {
    const [scope, name] = requireCollectionScope(deps.policies, request, 'create');
    return discreetly(scope.reader, async (within) => {
      const created = await deps.bulkWrites.create(scope, name, many, toWriteContext(request, within));
      return toBulkCreateResponse(
        request,
        await mapCooperatively(created, ({ raw }) => visibleDocument(scope.reader, raw)),
      );
    });
  }
  const body = parseObjectBody(request);
  const [scope, name] = requireCollectionScope(deps.policies, request, 'create');
  return discreetly(scope.reader, async (within) => {
    const created = await collections.create(scope, name, body, toWriteContext(request, within));
    return toWriteResponse(request, await toWrittenDocument(scope.reader, created), name);
  });
}

/** @throws MillraceError what is wrong with the request, `not-authenticated`, `forbidden` */
export function prepareReplace(request: Request, id: string, deps: WriteDeps): PreparedWrite {
  const upsert = booleanParameter(parseQueryParameters(request, ['upsert']), 'upsert');
  requireMediaType(request, ['application/json']);
  const body = parseObjectBody(request);
  const [scopes, name] = enterReplace(request, upsert, deps);
  const reader = (scopes.update ?? scopes.create)?.reader ?? null;
  return discreetly(reader, async (within) => {
    const replaced = await deps.collections.replace(scopes, name, id, body, toWriteContext(request, within));
    return { id, ...toWriteResponse(request, await toWrittenDocument(reader, replaced), name) };
  });
}

/** `If-None-Match: *` only creates; an upsert creates where that is allowed, and otherwise gives 404. */
function enterReplace(request: Request, upsert: boolean, deps: WriteDeps): readonly [WriteScopes, CollectionName] {
  const { ifMatch, ifNoneMatch } = parsePreconditions(request.headers);
  if (ifNoneMatch === '*') {
    if (ifMatch !== undefined) throw contradiction();
    const [create, name] = requireCollectionScope(deps.policies, request, 'create');
    return [{ update: null, create }, name];
  }
  const [update, name] = requireCollectionScope(deps.policies, request, 'update');
  return [{ update, create: upsert ? deps.policies.find(request.principal, 'create', name) : null }, name];
}

function contradiction(): MillraceError {
  return new MillraceError('precondition-failed', 'If-Match and If-None-Match: * cannot be combined', {
    hint: 'Send If-None-Match: * to create, If-Match to change',
  });
}

/** @throws MillraceError what is wrong with the request, `not-authenticated`, `forbidden` */
export function preparePatch(request: Request, id: string, deps: WriteDeps): PreparedWrite {
  parseQueryParameters(request, []);
  const change = parsePatch(request);
  const [scope, name] = requireCollectionScope(deps.policies, request, 'update');
  return discreetly(scope.reader, async (within) => {
    const patched = await deps.collections.patch(scope, name, id, change, toWriteContext(request, within));
    return { id, ...toWriteResponse(request, await toWrittenDocument(scope.reader, patched), name) };
  });
}

/** @throws MillraceError what is wrong with the request, `not-authenticated`, `forbidden` */
export function prepareRemove(request: Request, id: string, deps: WriteDeps): PreparedWrite {
  parseQueryParameters(request, []);
  const [scope, name] = requireCollectionScope(deps.policies, request, 'delete');
  return async (within) => {
    const removed = await deps.collections.remove(scope, name, id, toWriteContext(request, within));
    return { id, ...toDeleteResponse(request, await toWrittenDocument(scope.reader, removed)) };
  };
}

/** @throws MillraceError what is wrong with the request, `not-authenticated`, `forbidden` */
export function preparePatchMany(request: Request, deps: WriteDeps): PreparedWrite {
  const requested = parseBulkTarget(request);
  const change = parsePatch(request);
  const [scope, name] = requireCollectionScope(deps.policies, request, 'update');
  return discreetly(scope.reader, async (within) => {
    const affected = await deps.bulkWrites.patch(scope, name, requested, change, toWriteContext(request, within));
    return toBulkWriteResponse(affected, requested.maxAffected);
  });
}

/** @throws MillraceError what is wrong with the request, `not-authenticated`, `forbidden` */
export function prepareRemoveMany(request: Request, deps: WriteDeps): PreparedWrite {
  const requested = parseBulkTarget(request);
  const [scope, name] = requireCollectionScope(deps.policies, request, 'delete');
  return async (within) => {
    const affected = await deps.bulkWrites.remove(scope, name, requested, toWriteContext(request, within));
    return toBulkWriteResponse(affected, requested.maxAffected);
  };
}
