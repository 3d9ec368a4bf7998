/**
 * JSON Patch (RFC 6902) on stored values. Dates, decimals and ids are leaves that keep their type when moved or copied,
 * and a test compares what clients see. Pure: neither the document nor the patch is changed. This is our own code
 * because the libraries for JSON Patch walk into the objects behind such leaves, reject a field named `constructor`, or
 * change their arguments.
 */
import { jsonPointer } from '../../database/json/json-errors.ts';
import { MillraceError } from '../../lib/errors.ts';
import { isPlainObject, setField } from '../../lib/plain-object.ts';
import { sameJson } from '../write/json-equality.ts';
import { checkChangedPath, checkNestingAndPrototype, invalidPatch, MAX_PATCH_OPERATIONS } from './patch-limits.ts';
import { type DraftNode, WorkingCopy } from './working-copy.ts';

/** The reference tokens of a JSON Pointer (RFC 6901), unescaped; empty for the whole document. */
type Pointer = readonly string[];

/** The operations (RFC 6902 section 4). */
export const JSON_PATCH_OPS = ['add', 'remove', 'replace', 'move', 'copy', 'test'] as const;

export type PatchOperation =
  | { readonly op: 'add' | 'replace' | 'test'; readonly path: Pointer; readonly value: unknown }
  | { readonly op: 'remove'; readonly path: Pointer }
  | { readonly op: 'move' | 'copy'; readonly path: Pointer; readonly from: Pointer };

export type JsonPatch = readonly PatchOperation[];

/**
 * Parses a patch; `id`, `_meta` and what is inside can be tested and copied, not changed.
 * @throws MillraceError `invalid-patch`, `unsupported-field-name`, with the operation
 */
export function parseJsonPatch(body: unknown): JsonPatch {
  if (!Array.isArray(body)) throw invalidPatch('A JSON Patch must be an array of operations');
  if (body.length > MAX_PATCH_OPERATIONS) throw invalidPatch(`A patch has at most ${MAX_PATCH_OPERATIONS} operations`);
  return body.map((item: unknown, index) => {
    try {
      const operation = parseOperation(item);
      if (operation.op !== 'test') checkChangedPath(operation.path);
      if (operation.op === 'move') checkChangedPath(operation.from);
      return operation;
    } catch (error) {
      throw inOperation(index, error);
    }
  });
}

/**
 * Applies all operations in order, or none.
 * @throws MillraceError `patch-test-failed`, `invalid-patch`, `json-too-deep`, `document-too-large`, naming the operation
 */
export function applyJsonPatch(document: unknown, patch: JsonPatch, draft = new WorkingCopy()): unknown {
  return patch.reduce<unknown>((root, operation, index) => {
    try {
      return apply(root, operation, draft);
    } catch (error) {
      throw inOperation(index, error);
    }
  }, document);
}

/** Parses one operation by RFC 6902 section 4; undefined members are ignored, as section 4 requires. */
export function parseOperation(item: unknown): PatchOperation {
  if (!isPlainObject(item)) throw invalidPatch('it is not an object');
  const { op } = item;
  switch (op) {
    case 'add':
    case 'replace':
    case 'test':
      if (!Object.hasOwn(item, 'value')) throw invalidPatch(`'${op}' needs a value`);
      return { op, path: pointerField(item, 'path'), value: item['value'] };
    case 'remove':
      return { op, path: pointerField(item, 'path') };
    case 'move':
    case 'copy':
      return { op, path: pointerField(item, 'path'), from: pointerField(item, 'from') };
    default:
      throw invalidPatch(`its 'op' is not one of ${JSON_PATCH_OPS.join(', ')}`);
  }
}

function pointerField(item: Record<string, unknown>, name: 'path' | 'from'): Pointer {
  const text = Object.hasOwn(item, name) ? item[name] : undefined;
  if (typeof text !== 'string') throw invalidPatch(`its '${name}' is not a string`);
  if (text === '') return [];
  if (!text.startsWith('/') || /~(?![01])/.test(text)) {
    throw invalidPatch(
      `its '${name}' is not a JSON Pointer`,
      'A pointer must be empty or start with /; ~ is written ~0',
    );
  }
  const tokens = text.slice(1).split('/');
  return tokens.map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'));
}

function apply(root: unknown, operation: PatchOperation, draft: WorkingCopy): unknown {
  switch (operation.op) {
    case 'test':
      if (sameJson(find(root, operation.path), operation.value, { ordered: false })) return root;
      throw new MillraceError('patch-test-failed', `the value at '${jsonPointer(operation.path)}' is different`);
    case 'add': {
      const value = draft.keeper.preserve(replacedAt(root, operation.path), operation.value);
      return add(root, operation.path, value, draft);
    }
    case 'replace': {
      const value = draft.keeper.preserve(find(root, operation.path), operation.value);
      return edit(root, operation.path, draft, value, (node, token) => put(node, token, value));
    }
    case 'remove':
      return remove(root, operation.path, draft);
    case 'move': {
      const { from, path } = operation;
      const value = find(root, from);
      if (jsonPointer(from) === jsonPointer(path)) return root;
      if (jsonPointer(path).startsWith(`${jsonPointer(from)}/`))
        throw invalidPatch('a value cannot be moved into itself');
      return add(remove(root, from, draft), path, value, draft);
    }
    case 'copy': {
      const value = find(root, operation.from);
      draft.grow(draft.measure(value).bytes);
      draft.share(value);
      return add(root, operation.path, value, draft);
    }
    default:
      return operation satisfies never;
  }
}

function add(root: unknown, path: Pointer, value: unknown, draft: WorkingCopy): unknown {
  return edit(root, path, draft, value, (node, token) => {
    if (!Array.isArray(node)) return put(node, token, value);
    const index = token === '-' ? node.length : indexIn(token, node.length + 1);
    if (index === undefined) throw missing(path);
    draft.spendWork(node.length - index);
    node.splice(index, 0, value);
  });
}

function remove(root: unknown, path: Pointer, draft: WorkingCopy): unknown {
  if (path.length === 0) throw invalidPatch('the document itself cannot be removed', 'DELETE removes it');
  find(root, path);
  return edit(root, path, draft, null, (node, token) => {
    if (!Array.isArray(node)) {
      delete node[token];
      return;
    }
    draft.spendWork(node.length - Number(token));
    node.splice(Number(token), 1);
  });
}

/** Changes a node that the working copy owns. */
type Change = (node: DraftNode, token: string) => void;

/** The document with the parent node of `path` changed; everything else stays unchanged. */
function edit(root: unknown, path: Pointer, draft: WorkingCopy, value: unknown, change: Change): unknown {
  checkNestingAndPrototype(path, value, draft.measure(value).depth);
  const last = path.at(-1);
  if (last === undefined) return value;
  if (!isNode(root)) throw missing(path);
  const top = draft.toMutable(root);
  let node: DraftNode = top;
  for (const token of path.slice(0, -1)) {
    const inner = fieldOf(node, token);
    if (!isNode(inner)) throw missing(path);
    const owned = draft.toMutable(inner);
    if (owned !== inner) put(node, token, owned);
    node = owned;
  }
  change(node, last);
  return top;
}

function find(root: unknown, path: Pointer): unknown {
  let node = root;
  for (const token of path) {
    node = isNode(node) ? fieldOf(node, token) : undefined;
    if (node === undefined) throw missing(path);
  }
  return node;
}

/** The field that an `add` replaces, if there is one. In an array `add` inserts, so nothing is replaced. */
function replacedAt(root: unknown, path: Pointer): unknown {
  let node = root;
  for (const [index, token] of path.entries()) {
    if (!isNode(node) || (Array.isArray(node) && index === path.length - 1)) return undefined;
    node = fieldOf(node, token);
  }
  return node;
}

function fieldOf(node: DraftNode, token: string): unknown {
  if (!Array.isArray(node)) return Object.hasOwn(node, token) ? node[token] : undefined;
  const index = indexIn(token, node.length);
  return index === undefined ? undefined : node[index];
}

/** RFC 6901 section 4: digits without leading zeros. */
function indexIn(token: string, length: number): number | undefined {
  return /^(?:0|[1-9]\d*)$/.test(token) && Number(token) < length ? Number(token) : undefined;
}

/** Sets an element of an array that exists, or a field of an object whether it exists or not. */
function put(node: DraftNode, token: string, value: unknown): void {
  if (Array.isArray(node)) node[Number(token)] = value;
  else setField(node, token, value);
}

function isNode(value: unknown): value is DraftNode {
  return Array.isArray(value) || isPlainObject(value);
}

function missing(path: Pointer): MillraceError {
  return invalidPatch(`the path '${jsonPointer(path)}' does not exist in the document`);
}

/** Adds the position of the operation to an error: the patch is rejected as a whole. */
function inOperation(index: number, error: unknown): unknown {
  if (!(error instanceof MillraceError)) return error;
  // The pointers that it names are in the document, not in the request.
  return error.with({ message: `Operation ${index}: ${error.message}`, issues: [] }).at(`/${index}`);
}
