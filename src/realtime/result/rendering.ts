/**
 * A document as the clients of one query see it: only the requested fields that the Scope allows, as JSON bytes. If all
 * fields are visible, stored bytes become JSON without intermediate objects.
 */
import type { Document } from 'mongodb';
import { rawDifference } from '../../database/bson/raw-bson.ts';
import { encodeDocument } from '../../database/json/json.ts';
import { sameAsJson } from '../../database/json/transcode-document.ts';
import { valueToWire } from '../../database/json/wire-values.ts';
import { cutBytes } from '../../policies/fields/cut-bytes.ts';
import { evaluateStored, fieldsFor, hidesFields } from '../../policies/scope-filter.ts';
import { ALL, type FieldTree, NONE } from '../../query/evaluate/field-tree.ts';
import { showsMeta, treeOf } from '../../query/evaluate/fields.ts';
import { compareNumbers, isNaNValue, isNumber, type NumberValue } from '../../query/evaluate/numbers.ts';
import { sortKeyOf } from '../../query/page/sort-key.ts';
import type { LiveSpec } from './live-query-spec.ts';

/** Whether documents are sent whole, without omitting fields. */
export function isWhole({ scope, fields }: LiveSpec): boolean {
  return fields === null && !hidesFields(scope);
}

/** The fields of a document that the Scope allows; null if it excludes the document. */
export type Shows = (raw: Buffer) => FieldTree | null;

/** A document that the Scope allows, as clients see it. */
function rendered(query: LiveSpec, raw: Buffer, shows: Shows): Buffer {
  return isWhole(query) ? encodeDocument(raw) : encodeVisible(query, visibleBytes(query, raw, shows));
}

/** The same for a document that `visibleBytes` has already redacted. */
export function encodeVisible({ fields }: LiveSpec, seen: Buffer): Buffer {
  return encodeDocument(seen, { meta: showsMeta(fields) });
}

/** The same, a few milliseconds at a time if redaction may be slow. */
export async function renderedInTurns(query: LiveSpec, raw: Buffer, turn?: () => Promise<unknown>): Promise<Buffer> {
  const { scope } = query;
  const fields = hidesFields(scope) ? await evaluateStored(scope, raw, fieldsFor, turn) : ALL;
  return rendered(query, raw, () => fields);
}

/** The visible fields of a document that the Scope allows, stored. */
export function visibleBytes({ fields }: LiveSpec, raw: Buffer, shows: Shows): Buffer {
  const seen = cutBytes(raw, shows(raw) ?? NONE);
  return fields === null ? seen : cutBytes(seen, treeOf(fields));
}

/** The names of the visible top-level fields whose JSON differs between two states. */
export function differences(before: Buffer, after: Buffer): readonly string[] {
  return rawDifference(before, after, sameAsJson);
}

/**
 * The document's sort key as JSON that clients can compare. All numbers are JSON numbers in it, also those that are
 * strings in documents. Numbers and dates beyond the range of JSON readers become the largest or smallest value
 * possible there.
 */
export function keyText({ sort }: LiveSpec, document: Document): string {
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
