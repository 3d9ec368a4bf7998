/** The kinds of values that a member can have, as the form calls them. */

export const KINDS = ['text', 'number', 'boolean', 'object', 'list', 'null'] as const;
export type Kind = (typeof KINDS)[number];

/** What a member has when its kind is chosen. */
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
