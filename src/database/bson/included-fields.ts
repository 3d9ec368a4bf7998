/**
 * Which fields of stored documents are included, prepared for reading bytes: names are compared as bytes, so that
 * nothing is decoded for the fields of ordinary documents.
 */
import { hasFieldName } from './bson-bytes.ts';
import { decodeUtf8Text } from './decode-bson-document.ts';

/** One level of fields, as query/evaluate/field-tree.ts describes it: those with a rule, and whether all others are included. */
export interface FieldRuleTree {
  readonly rest: boolean;
  readonly fields: ReadonlyMap<string, FieldRuleTree>;
}

/** A prepared level. */
export interface IncludedFields {
  readonly rest: boolean;
  /** The names with rules and their levels, as bytes and as text. */
  readonly names: readonly Buffer[];
  readonly levels: readonly IncludedFields[];
  readonly byText: ReadonlyMap<string, IncludedFields>;
}

export const ALL_FIELDS: IncludedFields = { rest: true, names: [], levels: [], byText: new Map() };
export const NO_FIELDS: IncludedFields = { rest: false, names: [], levels: [], byText: new Map() };

const prepared = new WeakMap<FieldRuleTree, IncludedFields>();

/** Prepares a tree once for all documents. */
export function prepareIncludedFields(tree: FieldRuleTree): IncludedFields {
  const known = prepared.get(tree);
  if (known !== undefined) return known;
  const found = tree.fields.size === 0 ? (tree.rest ? ALL_FIELDS : NO_FIELDS) : prepareLevel(tree);
  prepared.set(tree, found);
  return found;
}

function prepareLevel({ rest, fields }: FieldRuleTree): IncludedFields {
  const byText = new Map([...fields].map(([name, tree]) => [name, prepareIncludedFields(tree)]));
  return { rest, names: [...fields.keys()].map((name) => Buffer.from(name)), levels: [...byText.values()], byText };
}

/** The level below a field of a level; its name is between two offsets. */
export function includedFieldsBelow(level: IncludedFields, src: Buffer, start: number, end: number): IncludedFields {
  const { names, levels } = level;
  for (let index = 0; index < names.length; index++) {
    const name = names[index];
    if (name !== undefined && hasFieldName(src, start, end, name)) return levels[index] ?? NO_FIELDS;
  }
  // Bytes that are not UTF-8 are shown as U+FFFD: a rule for the shown name applies to them, too.
  for (let at = start; at < end; at++) {
    if ((src[at] ?? 0) < 0x80) continue;
    const found = level.byText.get(decodeUtf8Text(src, start, end));
    if (found !== undefined) return found;
    break;
  }
  return level.rest ? ALL_FIELDS : NO_FIELDS;
}

/** Whether something below a field is included and something is not, so that its documents and arrays are looked into. */
export function isPartlyIncluded(level: IncludedFields): boolean {
  return level.names.length > 0;
}
