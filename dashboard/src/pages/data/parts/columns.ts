/** The columns of the grid: from the schema of the collection, or those that the address names. */

import { isBelow, stepsOf } from '../../../parts/field-path.ts';

/** The fields of a collection, by path (collection-schema.ts). */
export interface Shape {
  readonly sampled: number;
  readonly complete: boolean;
  readonly fields: readonly ShapeField[];
}

export interface ShapeField {
  readonly path: string;
  readonly documents: number;
  readonly types: readonly { readonly type: string; readonly documents: number }[];
  readonly format?: string;
  readonly example?: unknown;
  readonly reference?: { readonly collection: string };
}

export interface GridColumn {
  readonly path: string;
  /** For the badge: `string`, `date-time`; empty when no document of the sample has it. */
  readonly type: string;
  /** The collection whose documents its values reference. */
  readonly reference: string | null;
  /** In pixels. */
  readonly width: number;
}

/** More are cut off anyway; the column menu has the others. */
const SHOWN_AT_FIRST = 14;

/** Fields that can be columns: those of objects, not of the elements of arrays. */
export function choices(shape: Shape | undefined): readonly ShapeField[] {
  return (shape?.fields ?? []).filter(({ path }) => !/\[\]|\*|,/.test(path));
}

/** @param named the columns in the URL, separated by commas */
export function columnsOf(shape: Shape | undefined, named: string | undefined): readonly GridColumn[] {
  const known = choices(shape);
  const paths =
    named?.split(',').filter((path) => path !== '' && path !== 'id') ??
    known
      .filter(({ path }) => path !== 'id' && !known.some((other) => isBelow(path, other.path)))
      .toSorted((one, other) => Number(isRare(one, shape)) - Number(isRare(other, shape)))
      .slice(0, SHOWN_AT_FIRST)
      .map(({ path }) => path);
  return ['id', ...paths].map((path) =>
    toColumn(
      path,
      known.find((field) => field.path === path),
    ),
  );
}

/** In few documents: shown after the others. */
function isRare({ documents }: ShapeField, shape: Shape | undefined): boolean {
  return documents < (shape?.sampled ?? 0) / 10;
}

function toColumn(path: string, field: ShapeField | undefined): GridColumn {
  const type = path.startsWith('_meta.') ? metaType(path) : typeOf(field);
  return { path, type, reference: field?.reference?.collection ?? null, width: widthOf(path, type) };
}

/** The type that most documents have. */
export function typeOf(field: ShapeField | undefined): string {
  const [first] = (field?.types ?? [])
    .filter(({ type }) => type !== 'null')
    .toSorted((one, other) => other.documents - one.documents);
  if (first === undefined) return field === undefined ? '' : 'null';
  return first.type === 'string' && field?.format !== undefined ? field.format : first.type;
}

function metaType(path: string): string {
  if (path.endsWith('At')) return 'date-time';
  return path.endsWith('revision') ? 'int' : 'string';
}

/** The name of the type for people. */
export function typeLabel(type: string): string {
  if (/^(?:int|long|double|decimal|number)$/.test(type)) return 'number';
  if (type === 'date-time' || type === 'date') return 'date';
  return { string: 'text', bool: 'boolean', objectId: 'id' }[type] ?? type;
}

function widthOf(path: string, type: string): number {
  const heading = (path.length + typeLabel(type).length) * 8 + 60;
  const value = { number: 110, date: 160, boolean: 90, id: 220, text: 200, object: 260, array: 220 }[typeLabel(type)];
  return path === 'id' ? 210 : Math.min(Math.max(heading, value ?? 160), 320);
}

/** The value at a path; undefined where there is none. */
export function valueAt(document: Readonly<Record<string, unknown>>, path: string): unknown {
  let value: unknown = document;
  for (const name of stepsOf(path)) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
    value = Reflect.get(value, name);
  }
  return value;
}
