/**
 * The writes, read and authorised. Each function parses a request, asks for its Scope, and returns a write that can run
 * alone, under an idempotency key or as a part of a batch, by the same rules. Not here: HTTP (write-routes.ts).
 */
import type { CollectionName } from '../../database/names.ts';
import { mapInTurns } from '../../kernel/concurrency/pauses.ts';
import { MillraceError } from '../../kernel/errors.ts';
import { flag, parameters, type RequestLike, requireMediaType } from '../../kernel/request.ts';
import type { Policies } from '../../policies/policies.ts';
import type { Scope } from '../../policies/scope.ts';
import type { BulkWrites } from '../bulk-writes.ts';
import type { Collections } from '../collections.ts';
import type { OpenTransaction } from '../open-transaction.ts';
import { seenBy, viewOf } from '../read/document-view.ts';
import { discreet } from '../refusals.ts';
import { parsePreconditions } from '../store/preconditions.ts';
import type { WriteScopes } from '../write.ts';
import { access, type RequestOnCollection } from './access.ts';
import { parseBulkTarget } from './bulk-target.ts';
import { parsePatch } from './patch-request.ts';
import { arrayBody, objectBody, refuseConditions, toWrite } from './request-body.ts';
import { affectedAnswer, createdAnswer, removedAnswer, type WriteResponse, writtenAnswer } from './write-response.ts';

/** A write that has been read and allowed; nothing has been touched yet. It may run again in a new transaction. */
export type PreparedWrite = (within?: OpenTransaction) => Promise<WriteResponse>;

/** One request to write, from the wire or from inside a batch. */
export interface WriteRequest extends RequestLike, RequestOnCollection {
  readonly method: string;
  readonly params: { readonly collection: string; readonly id?: string };
}

export interface WriteParts {
  readonly collections: Collections;
  readonly byFilter: BulkWrites;
  readonly policies: Policies;
}

/**
 * Reads a write and asks for its Scope. The order of the checks matters: a client without rights learns nothing about
 * what exists.
 * @throws MillraceError what is wrong with the request, `not-authenticated`, `forbidden`, `method-not-allowed`
 */
export function prepareWrite(request: WriteRequest, parts: WriteParts): PreparedWrite {
  const { id } = request.params;
  if (id === undefined) {
    if (request.method === 'POST') return prepareCreate(request, parts);
    if (request.method === 'PATCH') return preparePatchMany(request, parts);
    if (request.method === 'DELETE') return prepareRemoveMany(request, parts);
  } else {
    if (request.method === 'PUT') return prepareReplace(request, id, parts);
    if (request.method === 'PATCH') return preparePatch(request, id, parts);
    if (request.method === 'DELETE') return prepareRemove(request, id, parts);
  }
  const allow = id === undefined ? 'DELETE, PATCH, POST' : 'DELETE, PATCH, PUT';
  throw new MillraceError('method-not-allowed', `${request.method.slice(0, 80)} is not possible here`, {
    hint: `Writes of a path of this form: ${allow}`,
    headers: { allow },
  });
}

/** Runs a write so that its errors name no member that the writer may not see. */
function discreetly(reader: Scope<'read'> | null, write: PreparedWrite): PreparedWrite {
  return async (within) => {
    try {
      return await write(within);
    } catch (error) {
      throw discreet(error, reader);
    }
  };
}

function prepareCreate(request: WriteRequest, parts: WriteParts): PreparedWrite {
  const { collections } = parts;
  parameters(request, []);
  refuseConditions(request);
  requireMediaType(request, ['application/json']);
  const many = arrayBody(request);
  if (many !== null) {
    const [scope, name] = access(parts.policies, request, 'create');
    return discreetly(scope.reader, async (within) => {
      const created = await collections.createMany(scope, name, many, toWrite(request, within));
      return createdAnswer(request, await mapInTurns(created, ({ raw }) => viewOf(scope.reader, raw)));
    });
  }
  const body = objectBody(request);
  const [scope, name] = access(parts.policies, request, 'create');
  return discreetly(scope.reader, async (within) => {
    const created = await collections.create(scope, name, body, toWrite(request, within));
    return writtenAnswer(request, await seenBy(scope.reader, created), name);
  });
}

function prepareReplace(request: WriteRequest, id: string, parts: WriteParts): PreparedWrite {
  const upsert = flag(parameters(request, ['upsert']), 'upsert');
  requireMediaType(request, ['application/json']);
  const body = objectBody(request);
  const [scopes, name] = enterReplace(request, upsert, parts);
  const reader = (scopes.update ?? scopes.create)?.reader ?? null;
  return discreetly(reader, async (within) => {
    const replaced = await parts.collections.replace(scopes, name, id, body, toWrite(request, within));
    return { id, ...writtenAnswer(request, await seenBy(reader, replaced), name) };
  });
}

/** `If-None-Match: *` only creates; an upsert creates where that is allowed, and otherwise finds nothing. */
function enterReplace(
  request: WriteRequest,
  upsert: boolean,
  parts: WriteParts,
): readonly [WriteScopes, CollectionName] {
  const { ifMatch, ifNoneMatch } = parsePreconditions(request.headers);
  if (ifNoneMatch === '*') {
    if (ifMatch !== undefined) throw contradiction();
    const [create, name] = access(parts.policies, request, 'create');
    return [{ update: null, create }, name];
  }
  const [update, name] = access(parts.policies, request, 'update');
  return [{ update, create: upsert ? parts.policies.find(request.principal, 'create', name) : null }, name];
}

function contradiction(): MillraceError {
  return new MillraceError('precondition-failed', 'If-Match and If-None-Match: * can never both hold', {
    hint: 'Send If-None-Match: * to create, If-Match to change',
  });
}

function preparePatch(request: WriteRequest, id: string, parts: WriteParts): PreparedWrite {
  parameters(request, []);
  const change = parsePatch(request);
  const [scope, name] = access(parts.policies, request, 'update');
  return discreetly(scope.reader, async (within) => {
    const patched = await parts.collections.patch(scope, name, id, change, toWrite(request, within));
    return { id, ...writtenAnswer(request, await seenBy(scope.reader, patched), name) };
  });
}

function prepareRemove(request: WriteRequest, id: string, parts: WriteParts): PreparedWrite {
  parameters(request, []);
  const [scope, name] = access(parts.policies, request, 'delete');
  return async (within) => {
    const removed = await parts.collections.remove(scope, name, id, toWrite(request, within));
    return { id, ...removedAnswer(request, await seenBy(scope.reader, removed)) };
  };
}

function preparePatchMany(request: WriteRequest, parts: WriteParts): PreparedWrite {
  const asked = parseBulkTarget(request);
  const change = parsePatch(request);
  const [scope, name] = access(parts.policies, request, 'update');
  return discreetly(scope.reader, async (within) => {
    const affected = await parts.byFilter.patch(scope, name, asked, change, toWrite(request, within));
    return affectedAnswer(affected, asked.maxAffected);
  });
}

function prepareRemoveMany(request: WriteRequest, parts: WriteParts): PreparedWrite {
  const asked = parseBulkTarget(request);
  const [scope, name] = access(parts.policies, request, 'delete');
  return async (within) => {
    const affected = await parts.byFilter.remove(scope, name, asked, toWrite(request, within));
    return affectedAnswer(affected, asked.maxAffected);
  };
}
