/**
 * A document as the clients of one question see it: only the members that the Scope shows and that were asked for, as
 * JSON bytes. Where all members are shown, the stored bytes become JSON without objects in between.
 */
import type { Document } from 'mongodb';
import { rawDifference } from '../../database/bson/raw.ts';
import { encodeDocument } from '../../database/json/json.ts';
import { sameAsJson } from '../../database/json/transcode-document.ts';
import { valueToWire } from '../../database/json/wire-values.ts';
import { cutBytes } from '../../policies/fields/cut-bytes.ts';
import { askStored, fieldsFor, hidesFields } from '../../policies/reach.ts';
import { ALL, type FieldTree, NONE } from '../../query/evaluate/field-tree.ts';
import { showsMeta, treeOf } from '../../query/evaluate/fields.ts';
import { compareNumbers, isNaNValue, isNumber, type NumberValue } from '../../query/evaluate/numbers.ts';
import { sortKeyOf } from '../../query/page/sort-key.ts';
import type { LiveQuestion } from './live-question.ts';

/** Whether documents are sent whole, without leaving members out. */
export function isWhole({ scope, fields }: LiveQuestion): boolean {
  return fields === null && !hidesFields(scope);
}

/** The members that the Scope shows of a document; null when it does not reach it. */
export type Shows = (raw: Buffer) => FieldTree | null;

/** A document that the Scope reaches, as clients see it. */
function rendered(question: LiveQuestion, raw: Buffer, shows: Shows): Buffer {
  return isWhole(question) ? encodeDocument(raw) : encodeVisible(question, visibleBytes(question, raw, shows));
}

/** The same for a document of which `visibleBytes` has left only what is shown. */
export function encodeVisible({ fields }: LiveQuestion, seen: Buffer): Buffer {
  return encodeDocument(seen, { meta: showsMeta(fields) });
}

/** The same, a few milliseconds at a time where it may take long to find out what the Scope shows. */
export async function renderedInTurns(
  question: LiveQuestion,
  raw: Buffer,
  turn?: () => Promise<unknown>,
): Promise<Buffer> {
  const { scope } = question;
  const fields = hidesFields(scope) ? await askStored(scope, raw, fieldsFor, turn) : ALL;
  return rendered(question, raw, () => fields);
}

/** The shown members of a document that the Scope reaches, stored. */
export function visibleBytes({ fields }: LiveQuestion, raw: Buffer, shows: Shows): Buffer {
  const seen = cutBytes(raw, shows(raw) ?? NONE);
  return fields === null ? seen : cutBytes(seen, treeOf(fields));
}

/** The names of the shown top-level members whose JSON differs between two states. */
export function differences(before: Buffer, after: Buffer): readonly string[] {
  return rawDifference(before, after, sameAsJson);
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
