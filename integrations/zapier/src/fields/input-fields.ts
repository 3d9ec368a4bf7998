/**
 * Input fields for a document, and the document built from them. A field's key begins with `field__` or, for JSON text, `json__`,
 * followed by the names of the path, separated by `__`.
 */
import zapier, { type Bundle, type PlainInputField, type ZObject } from 'zapier-platform-core';
import { type Field, labelOf } from './fields.ts';
import { chosenFields } from './schema.ts';

const FIELD = 'field';
const JSON_FIELD = 'json';
const BETWEEN = '__';

/** Maximum number of fields in a form. */
const MAX_FIELDS = 100;

/** Other fields of the document, without an input field. */
export const MORE_FIELD: PlainInputField = {
  key: 'document',
  label: 'More Fields (JSON)',
  type: 'text',
  required: false,
  helpText: 'A JSON object with fields that are not listed above, such as `{"tags":["new"],"size":{"width":3}}`.',
};

/** One input field for each writable field of the chosen collection. */
export async function fieldFields(z: ZObject, bundle: Bundle): Promise<PlainInputField[]> {
  return (await chosenFields(z, bundle))
    .filter(({ isReadOnly, path }) => !isReadOnly && path[0] !== 'id')
    .slice(0, MAX_FIELDS)
    .map(toField);
}

function toField({ path, kind, isList }: Field): PlainInputField {
  const key = [kind === 'json' ? JSON_FIELD : FIELD, ...path.map(encodeName)].join(BETWEEN);
  const common = { key, label: labelOf(path), required: false };
  if (kind === 'json') return { ...common, type: 'text', helpText: 'A value as JSON: an object, or a list.' };
  return { ...common, type: kind, ...(isList ? { list: true } : {}) };
}

/**
 * Names may contain any character; keys keep letters, digits, `-` and single underscores, and escape the rest as `$` with a hex
 * number.
 */
function encodeName(name: string): string {
  return name.replace(/^_|_(?=_|$)|[^\w-]/gu, (char) => `$${(char.codePointAt(0) ?? 0).toString(16)}$`);
}

function decodeName(text: string): string {
  return text.replace(/\$([0-9a-f]{1,6})\$/g, (_, hex: string) => String.fromCodePoint(Number.parseInt(hex, 16)));
}

type Fields = Record<string, unknown>;

/**
 * The document: values of the input fields, overridden by those of `document`.
 * @throws zapier.errors.Error when a text is not the required JSON
 */
export function filledIn(inputData: Readonly<Record<string, unknown>>): Fields {
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
  return Object.assign(document, parseObject(inputData['document'], 'More Fields'));
}

/** Without a prototype, so that a field may have any name. */
function emptyObject(): Fields {
  return Object.create(null);
}

function put(object: Fields, [name = '', ...rest]: readonly string[], value: unknown): void {
  if (rest.length === 0) {
    object[name] = value;
    return;
  }
  const within = object[name];
  const inner = typeof within === 'object' && within !== null ? (within as Fields) : emptyObject();
  object[name] = inner;
  put(inner, rest, value);
}

/**
 * A JSON object, or an empty one without input.
 * @throws zapier.errors.Error for anything else
 */
export function parseObject(value: unknown, label: string): Readonly<Fields> {
  if (value === undefined || value === '') return {};
  const parsed = parseJson(value, label);
  if (typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)) return { ...parsed };
  throw new zapier.errors.Error(`"${label}" must be a JSON object, such as {"status":"new"}`, 'invalid-json', 400);
}

/** @param value a JSON text, or a value that Zapier has already parsed */
export function parseJson(value: unknown, label: string): unknown {
  if (typeof value !== 'string') return value;
  try {
    return JSON.parse(value);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new zapier.errors.Error(`"${label}" is not JSON: ${why}`, 'invalid-json', 400);
  }
}
