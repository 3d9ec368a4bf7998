/** The kinds of values that a field can have, as the form names them. */

export const KINDS = ['text', 'number', 'boolean', 'object', 'list', 'null'] as const;
export type Kind = (typeof KINDS)[number];

/** The initial value of a kind. */
export const EMPTY_VALUES: Readonly<Record<Kind, unknown>> = {
  text: '',
  number: 0,
  boolean: false,
  object: {},
  list: [],
  null: null,
};

export function kindOf(value: unknown): Kind {
  if (value === null || value === undefined) return 'null';
  if (Array.isArray(value)) return 'list';
  if (typeof value === 'object') return 'object';
  if (typeof value === 'string') return 'text';
  return typeof value === 'number' ? 'number' : 'boolean';
}
