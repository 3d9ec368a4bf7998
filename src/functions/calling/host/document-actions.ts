/** Document operations for functions: the same bodies, conditions, rights, errors and results as over HTTP. */

import { prepareBatch } from '../../../collections/http/batch.ts';
import { addIndexFromPointer } from '../../../collections/http/batch-operations.ts';
import { type CollectionRequest, requireCollectionScope } from '../../../collections/http/collection-access.ts';
import { prepareWrite, type WriteDeps, type WriteRequest } from '../../../collections/http/write-operations.ts';
import { withWholeMeta } from '../../../collections/read/field-selection.ts';
import type { TransactionRunner } from '../../../collections/transaction-runner.ts';
import { encodeDocumentJson, encodeListJson } from '../../../database/json/json.ts';
import { MillraceError } from '../../../lib/errors.ts';
import { includesMeta } from '../../../query/evaluate/field-selection.ts';
import { parseQueryJson } from '../../../query/parse/parse-query.ts';
import type { HostArguments } from '../../sandbox/host-schemas.ts';
import type { ActionContext, HostAction, HostActions } from './host-action.ts';
import { functionLimitError } from './host-errors.ts';
import type { OperationArgument } from './operation-argument.ts';

/** Documents of a list without a limit. */
const PAGE = 100;
/** Stored bytes above which a list is not serialized: its JSON would exceed the result limit. */
const MAX_STORED_BYTES = 8 * 1_048_576;
/** Query options that a function may give. */
const QUERY: readonly (keyof HostArguments['documents.list'])[] = ['filter', 'sort', 'limit', 'cursor', 'fields'];

export interface DocumentDeps extends WriteDeps {
  readonly atomic: TransactionRunner;
}

type Documents = Extract<keyof HostArguments, `documents.${string}`> | 'batch';

export function documentActions(deps: DocumentDeps, acting: ActionContext): HostActions<Documents> {
  const { collections, policies } = deps;
  const { within } = acting;
  const inside = within ?? undefined;

  const onCollection = (argument: OperationArgument): CollectionRequest => ({
    principal: acting.principal,
    params: { collection: argument.text('collection') },
  });

  async function list(argument: OperationArgument): Promise<string> {
    const given = QUERY.flatMap((name) => (argument.fields[name] === undefined ? [] : [[name, argument.fields[name]]]));
    const requested = parseQueryJson({ limit: PAGE, ...Object.fromEntries(given) });
    const query = { ...requested, fields: withWholeMeta(requested.fields) };
    const [scope, name] = requireCollectionScope(policies, onCollection(argument), 'read');
    const { documents, rest, next } = await collections.list(scope, name, query, inside);
    if (rest !== null) throw new TypeError('The page is a stream');
    if (documents.reduce((sum, { length }) => sum + length, 0) > MAX_STORED_BYTES) {
      throw functionLimitError('The documents are too large together; request fewer documents or fields');
    }
    return `{"items":${encodeListJson(documents, { meta: includesMeta(query.fields) })},"next":${JSON.stringify(next)}}`;
  }

  async function get(argument: OperationArgument): Promise<string> {
    const [scope, name] = requireCollectionScope(policies, onCollection(argument), 'read');
    const { raw } = await collections.get(scope, name, argument.text('id'), inside);
    return encodeDocumentJson(raw).toString();
  }

  async function count(argument: OperationArgument): Promise<string> {
    const { filter = {} } = argument.fields;
    const query = parseQueryJson({ filter, limit: 0, count: 'exact' });
    const [scope, name] = requireCollectionScope(policies, onCollection(argument), 'read');
    return String((await collections.list(scope, name, query, inside)).count?.value ?? 0);
  }

  async function write(request: Omit<WriteRequest, 'id' | 'url' | 'principal'>): Promise<string> {
    const { principal, request: id } = acting;
    const { body } = await prepareWrite({ ...request, id, url: '/api', principal }, deps)(inside);
    return body === null ? 'null' : body.toString();
  }

  const written = (method: string, body: unknown, type = 'application/json') => ({
    method,
    body,
    headers: { 'content-type': type, prefer: 'return=representation' },
  });

  const onDocument = (argument: OperationArgument) => {
    const match = argument.optionalText('ifMatch');
    return {
      params: { collection: argument.text('collection'), id: argument.text('id') },
      ...(match === undefined ? {} : { condition: { 'if-match': match } }),
    };
  };

  function change(argument: OperationArgument, { method, body, headers }: ReturnType<typeof written>): Promise<string> {
    const { params, condition } = onDocument(argument);
    return write({ method, body, params, headers: { ...headers, ...condition } });
  }

  function patch(argument: OperationArgument): Promise<string> {
    const { changes } = argument.fields;
    if (Array.isArray(changes)) return change(argument, written('PATCH', changes, 'application/json-patch+json'));
    return change(argument, written('PATCH', argument.object('changes'), 'application/merge-patch+json'));
  }

  async function remove(argument: OperationArgument): Promise<string> {
    const { params, condition = {} } = onDocument(argument);
    await write({ method: 'DELETE', body: undefined, params, headers: condition });
    return 'null';
  }

  async function batch({ fields }: OperationArgument): Promise<string> {
    const request = { id: acting.request, url: '/batch', headers: { 'content-type': 'application/json' } };
    const prepared = prepareBatch({ ...request, body: fields, principal: acting.principal }, deps);
    const { body } = await prepared.write(inside);
    return body === null ? 'null' : body.toString();
  }

  const reads = (run: HostAction['run']) => ({ writes: false, queue: 'documents', target: targetOf, run }) as const;
  const writes = (run: HostAction['run']) => ({ writes: true, queue: 'documents', target: targetOf, run }) as const;
  return {
    'documents.list': reads((argument) => orAbsent(list(argument), '{"items":[],"next":null}')),
    'documents.get': reads((argument) => orAbsent(get(argument), 'null')),
    'documents.count': reads((argument) => orAbsent(count(argument), '0')),
    'documents.create': writes((argument) => {
      const params = { collection: argument.text('collection') };
      return write({ ...written('POST', argument.object('document')), params });
    }),
    'documents.replace': writes((argument) => change(argument, written('PUT', argument.object('document')))),
    'documents.patch': writes(patch),
    'documents.update': writes((argument) =>
      change(argument, written('PATCH', argument.object('operators'), 'application/vnd.millrace.update+json')),
    ),
    'documents.remove': writes(remove),
    batch: writes((argument) =>
      batch(argument).catch((error: unknown) => {
        throw addIndexFromPointer(error);
      }),
    ),
  };
}

/** A missing document is missing whether or not its collection exists. */
const ABSENT: ReadonlySet<string> = new Set(['document-not-found', 'resource-not-available']);

/**
 * The result of a read, or the value for a missing document or collection: a function may run before the collection
 * exists.
 */
async function orAbsent(read: Promise<string>, absent: string): Promise<string> {
  try {
    return await read;
  } catch (error) {
    if (error instanceof MillraceError && ABSENT.has(error.code)) return absent;
    throw error;
  }
}

function targetOf({ fields }: OperationArgument): string {
  const { collection, id, operations } = fields;
  if (Array.isArray(operations)) return `${operations.length} operations`;
  return [collection, id].filter((part) => typeof part === 'string').join('/');
}
