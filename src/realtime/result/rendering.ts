/**
 * Documents as the clients of one query see them: only the requested fields that the Scope allows, as JSON bytes. If all
 * fields are visible, stored bytes become JSON without intermediate objects. A snapshot becomes messages of limited size.
 */
import type { Document } from 'mongodb';
import { changedFieldNames } from '../../database/bson/raw-bson.ts';
import { decodeDocumentCooperatively } from '../../database/bson/stored-document.ts';
import { encodeDocumentJson } from '../../database/json/json.ts';
import { isSameJson } from '../../database/json/transcode-document.ts';
import { valueToWire } from '../../database/json/wire-values.ts';
import { selectBsonFields } from '../../policies/fields/select-bson-fields.ts';
import { evaluateStoredDocument, hidesFields, visibleFieldTree } from '../../policies/scope-filter.ts';
import type { ScheduledTask } from '../../query/evaluate/fair-scheduler.ts';
import { includesMeta, toFieldTree } from '../../query/evaluate/field-selection.ts';
import { EMPTY_FIELD_TREE, type FieldTree, FULL_FIELD_TREE } from '../../query/evaluate/field-tree.ts';
import { compareNumbers, isNaNValue, isNumber, type NumberValue } from '../../query/evaluate/numbers.ts';
import { sortKeyOf } from '../../query/page/sort-key.ts';
import { encodeSnapshotPart, type SnapshotPart } from '../wire/encode-message.ts';
import type { LiveQuerySpec } from './live-query-spec.ts';
import type { WindowMember } from './query-window.ts';
import { toWindowMember } from './window-member.ts';

/** Whether documents are sent whole, without omitting fields. */
export function sendsWholeDocuments({ scope, fields }: LiveQuerySpec): boolean {
  return fields === null && !hidesFields(scope);
}

/** The fields of a document that the Scope allows; null if it excludes the document. */
export type FieldVisibility = (raw: Buffer) => FieldTree | null;

/** A document that the Scope allows, as clients see it. */
function rendered(query: LiveQuerySpec, raw: Buffer, shows: FieldVisibility): Buffer {
  return sendsWholeDocuments(query)
    ? encodeDocumentJson(raw)
    : encodeAlreadyRedactedDocument(query, redactDocument(query, raw, shows));
}

/** The same for a document that `redactDocument` has already redacted. */
export function encodeAlreadyRedactedDocument({ fields }: LiveQuerySpec, seen: Buffer): Buffer {
  return encodeDocumentJson(seen, { meta: includesMeta(fields) });
}

/** The same, a few milliseconds at a time if redaction may be slow. */
export async function renderDocument(
  query: LiveQuerySpec,
  raw: Buffer,
  turn?: () => Promise<unknown>,
): Promise<Buffer> {
  const { scope } = query;
  const fields = hidesFields(scope)
    ? await evaluateStoredDocument(scope, raw, visibleFieldTree, turn)
    : FULL_FIELD_TREE;
  return rendered(query, raw, () => fields);
}

/** The visible fields of a document that the Scope allows, stored. */
export function redactDocument({ fields }: LiveQuerySpec, raw: Buffer, shows: FieldVisibility): Buffer {
  const seen = selectBsonFields(raw, shows(raw) ?? EMPTY_FIELD_TREE);
  return fields === null ? seen : selectBsonFields(seen, toFieldTree(fields));
}

/** The names of the visible top-level fields whose JSON differs between two states. */
export function changedVisibleFields(before: Buffer, after: Buffer): readonly string[] {
  return changedFieldNames(before, after, isSameJson);
}

/**
 * The document's sort key as JSON that clients can compare. All numbers are JSON numbers in it, also those that are
 * strings in documents. Numbers and dates beyond the range of JSON readers become the largest or smallest value
 * possible there.
 */
export function sortKeyJson({ sort }: LiveQuerySpec, document: Document): string {
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

/** Bytes of documents and sort keys in one message; a single document may be larger. */
const PART_BYTES = 256 * 1024;

export interface RenderSnapshotOptions {
  readonly query: LiveQuerySpec;
  readonly batches: AsyncIterable<readonly Buffer[]> | Iterable<readonly Buffer[]>;
  readonly position: string;
  readonly lane: ScheduledTask;
  /** Called for each entry of the window, also for those that are not shown. */
  readonly onMember: (member: WindowMember) => void;
  /** Whether nobody needs the rest. */
  readonly isObsolete: () => boolean;
}

/** The messages of a snapshot. Without the last one if it has become obsolete. */
export async function* renderSnapshot(options: RenderSnapshotOptions): AsyncGenerator<SnapshotPart> {
  const { query, position, lane, onMember, isObsolete } = options;
  const turn = () => lane.waitTurn();
  let count = 0;
  let documents: Buffer[] = [];
  let keys: Buffer[] = [];
  let bytes = 0;
  for await (const batch of options.batches) {
    for (const raw of batch) {
      if (lane.shouldYield) await turn();
      if (isObsolete()) return;
      const document = query.keyed ? await decodeDocumentCooperatively(raw, turn) : null;
      if (document !== null && query.limit !== null) onMember(toWindowMember(document, query));
      count += 1;
      if (query.limit !== null && count > query.limit) continue;
      const json = await renderDocument(query, raw, turn);
      documents.push(json);
      bytes += json.length;
      if (document !== null) {
        const key = Buffer.from(sortKeyJson(query, document));
        keys.push(key);
        bytes += key.length;
      }
      if (bytes < PART_BYTES) continue;
      yield encodeSnapshotPart(documents, query.keyed ? keys : null, null);
      documents = [];
      keys = [];
      bytes = 0;
    }
  }
  if (!isObsolete()) yield encodeSnapshotPart(documents, query.keyed ? keys : null, position);
}
