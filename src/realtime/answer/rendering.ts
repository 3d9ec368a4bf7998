/**
 * A document as the clients of one question see it: only the members that the Scope shows and that were asked for, as
 * JSON bytes. Where all members are shown, the stored bytes become JSON without objects in between.
 */
import type { Document } from 'mongodb';
import { encodeDocument, toWire } from '../../database/json/json.ts';
import { valueToWire } from '../../database/json/wire-values.ts';
import { hidesFields, shown } from '../../policies/reach.ts';
import { cutTo } from '../../query/evaluate/field-tree.ts';
import { showsMeta, treeOf } from '../../query/evaluate/fields.ts';
import { compareNumbers, isNaNValue, isNumber, type NumberValue } from '../../query/evaluate/numbers.ts';
import { sortKeyOf } from '../../query/page/sort-key.ts';
import type { LiveQuestion } from './live-question.ts';

/** Whether documents are sent whole, without leaving members out. */
export function isWhole({ scope, fields }: LiveQuestion): boolean {
  return fields === null && !hidesFields(scope);
}

/** A document that the Scope reaches, as clients see it. */
export function rendered(question: LiveQuestion, raw: Buffer, read: () => Document): Buffer {
  if (isWhole(question)) return encodeDocument(raw);
  return Buffer.from(JSON.stringify(toWire(visibleDocument(question, read()), { meta: showsMeta(question.fields) })));
}

/** The shown members of a document that the Scope reaches, with their BSON types. */
function visibleDocument({ scope, fields }: LiveQuestion, document: Document): Document {
  const seen = shown(scope, document) ?? {};
  return fields === null ? seen : cutTo(seen, treeOf(fields));
}

/** The names of the shown top-level members that differ between two states of a document. */
export function differences(question: LiveQuestion, before: Document, after: Document): readonly string[] {
  const [a, b] = [visibleDocument(question, before), visibleDocument(question, after)];
  const names = new Set([...Object.keys(a), ...Object.keys(b)]);
  return [...names].filter((name) => !sameValue(a[name], b[name]));
}

function sameValue(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (a === undefined || b === undefined) return false;
  return JSON.stringify(valueToWire(a)) === JSON.stringify(valueToWire(b));
}

/**
 * The document's sort key as JSON that clients can compare. All numbers are JSON numbers in it, also those that are
 * texts in documents. Numbers and dates beyond what JSON readers can hold become the largest or smallest value possible
 * there.
 */
export function keyText({ sort }: LiveQuestion, document: Document): string {
  return `[${sortKeyOf(document, sort).map(keyValueText).join()}]`;
}

function keyValueText(value: unknown): string {
  const wire = valueToWire(value);
  if (isNumber(value)) return numberText(value, String(wire));
  return JSON.stringify(value instanceof Date ? withinYears(value, wire) : wire);
}

/** RFC 8259, section 6. */
const NUMBER = /^-?\d+(\.\d+)?([Ee][+-]?\d+)?$/;

function numberText(value: NumberValue, text: string): string {
  if (NUMBER.test(text) && Number.isFinite(Number(text))) return text;
  // NaN sorts before every other number.
  const isLow = isNaNValue(value) || compareNumbers(value, 0) < 0;
  return JSON.stringify(isLow ? -Number.MAX_VALUE : Number.MAX_VALUE);
}

const FIRST = '0000-01-01T00:00:00.000Z';
const LAST = '9999-12-31T23:59:59.999Z';

/** Years of more than four digits, and those before 0, do not sort as texts. */
function withinYears(date: Date, text: unknown): unknown {
  if (typeof text !== 'string' || /^\d/.test(text)) return text;
  return date.getTime() < 0 ? FIRST : LAST;
}
