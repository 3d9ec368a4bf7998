/**
 * Fields that people fill in for a document, and the document that is made of them. A field's key begins with `field__` or, for a
 * text of JSON, `json__`; then come the names of the path, each between `__`. Not here: asking for the schema (schema.ts).
 */
import zapier, { type Bundle, type PlainInputField, type ZObject } from 'zapier-platform-core';
import { labelOf, type Member } from './members.ts';
import { chosenMembers } from './schema.ts';

const FIELD = 'field';
const JSON_FIELD = 'json';
const BETWEEN = '__';

/** Fields in a form, at most. */
const MAX_FIELDS = 100;

/** Other members, of which nobody made a field. */
export const MORE_FIELD: PlainInputField = {
  key: 'document',
  label: 'More Members (JSON)',
  type: 'text',
  required: false,
  helpText:
    'A JSON object with members for which there is no field above, such as `{"tags":["new"],"size":{"width":3}}`.',
};

/** One field for each member of the chosen collection that may be written. */
export async function memberFields(z: ZObject, bundle: Bundle): Promise<PlainInputField[]> {
  return (await chosenMembers(z, bundle))
    .filter(({ isReadOnly, path }) => !isReadOnly && path[0] !== 'id')
    .slice(0, MAX_FIELDS)
    .map(toField);
}

function toField({ path, kind, isList }: Member): PlainInputField {
  const key = [kind === 'json' ? JSON_FIELD : FIELD, ...path.map(encodeName)].join(BETWEEN);
  const common = { key, label: labelOf(path), required: false };
  if (kind === 'json') return { ...common, type: 'text', helpText: 'A value as JSON: an object, or a list.' };
  return { ...common, type: kind, ...(isList ? { list: true } : {}) };
}

/** Names may hold anything; keys keep letters, digits, `-` and single underscores, and the rest as `$` with a number in hex. */
function encodeName(name: string): string {
  return name.replace(/^_|_(?=_|$)|[^\w-]/gu, (char) => `$${(char.codePointAt(0) ?? 0).toString(16)}$`);
}

function decodeName(text: string): string {
  return text.replace(/\$([0-9a-f]{1,6})\$/g, (_, hex: string) => String.fromCodePoint(Number.parseInt(hex, 16)));
}

type Members = Record<string, unknown>;

/**
 * The document that was filled in: members of fields, and over them those of `document`.
 * @throws zapier.errors.Error when a text is not the JSON that it should be
 */
export function filledIn(inputData: Readonly<Record<string, unknown>>): Members {
  const document = emptyObject();
  for (const [key, value] of Object.entries(inputData)) {
    const [kind, ...names] = key.split(BETWEEN);
    if (names.length === 0 || value === undefined) continue;
    if (kind === FIELD) put(document, names.map(decodeName), value);
    if (kind === JSON_FIELD) {
      const path = names.map(decodeName);
      put(document, path, parseJson(value, labelOf(path)));
    }
  }
  return Object.assign(document, parseObject(inputData['document'], 'More Members'));
}

/** Without a prototype, so that a member may have any name. */
function emptyObject(): Members {
  return Object.create(null);
}

function put(object: Members, [name = '', ...rest]: readonly string[], value: unknown): void {
  if (rest.length === 0) {
    object[name] = value;
    return;
  }
  const within = object[name];
  const inner = typeof within === 'object' && within !== null ? (within as Members) : emptyObject();
  object[name] = inner;
  put(inner, rest, value);
}

/** A JSON object, or an empty one where nothing was filled in. @throws zapier.errors.Error for anything else */
export function parseObject(value: unknown, label: string): Readonly<Members> {
  if (value === undefined || value === '') return {};
  const parsed = parseJson(value, label);
  if (typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)) return { ...parsed };
  throw new zapier.errors.Error(`"${label}" must be a JSON object, such as {"status":"new"}`, 'invalid-json', 400);
}

/** @param value a text of JSON, or a value that Zapier read already */
export function parseJson(value: unknown, label: string): unknown {
  if (typeof value !== 'string') return value;
  try {
    return JSON.parse(value);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new zapier.errors.Error(`"${label}" is not JSON: ${why}`, 'invalid-json', 400);
  }
}
