/** Operations of a batch, and `$ref.id`, by which a later operation refers to the document of an earlier one. Pure. */
import { MillraceError } from '../../lib/errors.ts';
import { isPlainObject, setField } from '../../lib/plain-object.ts';

/** Maximum operations of one batch. */
export const MAX_BATCH_OPERATIONS = 100;
const FIELDS: ReadonlySet<string> = new Set(['method', 'path', 'body', 'headers', 'ref']);
const HEADERS: ReadonlySet<string> = new Set(['if-match', 'if-none-match', 'content-type', 'prefer']);
/** The name (`ref`) of an operation. */
export const BATCH_REF_NAME_PATTERN = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/;
const REFERENCE = /^\$([A-Za-z][A-Za-z0-9_-]{0,63})\.id$/;

export interface BatchOperation {
  readonly method: string;
  /** Decoded segments of the path after `/api`: a collection, and for one document its id. */
  readonly segments: readonly string[];
  /** The path and its query as written. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** `undefined` when there is none. */
  readonly body: unknown;
  readonly ref: string | undefined;
}

/** Ids of created documents, by the name of the operation that created them. */
export type BatchRefs = ReadonlyMap<string, string>;

/**
 * Reads the body of a batch.
 * @throws MillraceError `invalid-body-type`, `too-many-operations`, `malformed-request`, `route-not-found`
 */
export function parseBatch(body: Record<string, unknown>): readonly BatchOperation[] {
  const { operations, ...others } = body;
  if (!Array.isArray(operations) || Object.keys(others).length > 0) {
    throw new MillraceError('invalid-body-type', 'A batch must be an object with one field, the array "operations"');
  }
  if (operations.length === 0) throw new MillraceError('invalid-body-type', 'The batch has no operations');
  if (operations.length > MAX_BATCH_OPERATIONS) {
    throw new MillraceError(
      'too-many-operations',
      `${operations.length} operations are too many: a batch may have ${MAX_BATCH_OPERATIONS}`,
    );
  }
  const refs = new Set<string>();
  return operations.map((item: unknown, index) => {
    try {
      const operation = parseOperation(item);
      if (operation.ref !== undefined && refs.has(operation.ref))
        throw malformed(`the ref '${operation.ref}' is used twice`);
      if (operation.ref !== undefined) refs.add(operation.ref);
      return operation;
    } catch (error) {
      throw addOperationIndex(index, error);
    }
  });
}

/**
 * The error of a batch's body as JSON, with the index of the failed operation if the error's pointer has it. This is
 * done afterwards, because the JSON parser runs before the body is known to be a batch.
 */
export function addIndexFromPointer(error: unknown): unknown {
  if (!(error instanceof MillraceError)) return error;
  const [, index] = /^\/operations\/(\d{1,9})(?:\/|$)/.exec(error.issues[0]?.pointer ?? '') ?? [];
  if (index === undefined || 'failedOperation' in error.extensions) return error;
  return error.with({ extensions: { failedOperation: Number(index) } });
}

/** Adds the position of the operation to an error. */
export function addOperationIndex(index: number, error: unknown): unknown {
  if (!(error instanceof MillraceError)) return error;
  const pointer = `/operations/${index}`;
  const placed = error.at(error.issues.length === 0 ? pointer : `${pointer}/body`);
  return placed.with({ extensions: { ...placed.extensions, failedOperation: index } });
}

/**
 * The operation with `$ref.id` replaced in the segments of its path and in the values of its body.
 * @throws MillraceError `malformed-request` when its path names an operation that is not before it
 */
export function resolveRefs(operation: BatchOperation, refs: BatchRefs): BatchOperation {
  return {
    ...operation,
    segments: operation.segments.map((segment) => resolveSegment(segment, refs)),
    body: refs.size === 0 ? operation.body : resolveValue(operation.body, refs),
  };
}

function resolveSegment(segment: string, refs: BatchRefs): string {
  const ref = REFERENCE.exec(segment)?.[1];
  if (ref === undefined) return segment;
  const id = refs.get(ref);
  if (id === undefined) throw malformed(`no earlier operation on one document has the ref '${ref}'`);
  return id;
}

/** A string that is not exactly a reference stays unchanged. */
function resolveValue(value: unknown, refs: BatchRefs): unknown {
  if (typeof value === 'string') return refs.get(REFERENCE.exec(value)?.[1] ?? '') ?? value;
  if (Array.isArray(value)) return value.map((item) => resolveValue(item, refs));
  if (!isPlainObject(value)) return value;
  const resolved: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(value)) setField(resolved, name, resolveValue(field, refs));
  return resolved;
}

function parseOperation(item: unknown): BatchOperation {
  if (!isPlainObject(item)) throw malformed('an operation must be an object');
  const unknown = Object.keys(item).find((name) => !FIELDS.has(name));
  if (unknown !== undefined) throw malformed(`'${unknown.slice(0, 80)}' is not a field of an operation`);
  const { method, path, ref } = item;
  if (typeof method !== 'string') throw malformed("the 'method' is not a string");
  if (typeof path !== 'string') throw malformed("the 'path' is not a string");
  if (ref !== undefined && (typeof ref !== 'string' || !BATCH_REF_NAME_PATTERN.test(ref)))
    throw malformed("the 'ref' is not a name");
  const body = Object.hasOwn(item, 'body') ? item['body'] : undefined;
  return { method, url: path, segments: segmentsOf(path), headers: headersOf(item['headers'], body), body, ref };
}

function segmentsOf(path: string): string[] {
  const parts = (path.split('?', 1)[0] ?? '').split('/');
  const segments = parts.slice(2).map((part) => {
    try {
      return decodeURIComponent(part);
    } catch (cause) {
      throw new MillraceError('malformed-request', 'The path has invalid percent-encoding', { cause });
    }
  });
  const known = parts[0] === '' && parts[1] === 'api' && segments.length >= 1 && segments.length <= 2;
  if (known && segments.every((segment) => segment !== '')) return segments;
  throw new MillraceError('route-not-found', `Nothing can be written at '${path.slice(0, 200)}'`, {
    hint: 'Paths in a batch are /api/{collection} and /api/{collection}/{id}',
  });
}

function headersOf(value: unknown, body: unknown): Record<string, string> {
  const headers: Record<string, string> = body === undefined ? {} : { 'content-type': 'application/json' };
  if (value === undefined) return headers;
  if (!isPlainObject(value)) throw malformed("the 'headers' are not an object");
  for (const [name, text] of Object.entries(value)) {
    const known = name.toLowerCase();
    if (!HEADERS.has(known)) throw malformed(`the header '${name.slice(0, 80)}' is not supported here`);
    if (typeof text !== 'string') throw malformed(`the header '${name}' is not a string`);
    headers[known] = text;
  }
  return headers;
}

function malformed(what: string): MillraceError {
  return new MillraceError('malformed-request', `The operation is malformed: ${what}`);
}
