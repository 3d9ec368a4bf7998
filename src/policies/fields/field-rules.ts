/**
 * Parses the rules by which a policy selects fields, `["*","-secret"]` or `["title","author.name"]`, into a tree. Pure.
 */
import { MillraceError } from '../../lib/errors.ts';
import { ALWAYS_VISIBLE } from '../../lib/server-fields.ts';
import { ALL, type FieldTree, fieldTree, NONE } from '../../query/evaluate/field-tree.ts';
import { isPosition, stepsOf, storedPath, writtenPath } from '../../query/paths.ts';

/**
 * Parses the rules: all fields but some, or some.
 * @returns a tree that includes `_id` and `_meta`
 * @throws MillraceError `invalid-policy` with the JSON Pointer of the rule
 */
export function parseFieldRules(rules: readonly string[] | undefined): FieldTree {
  if (rules === undefined) return ALL;
  const all = rules.includes('*');
  const read = rules.map((rule, index) => (rule === '*' ? null : readRule(rule, index, all)));
  const paths = read.filter((path) => path !== null);
  for (const [index, path] of read.entries()) {
    const rule = rules[index] ?? '';
    const above = paths.find((other) => path?.startsWith(`${other}.`));
    if (above !== undefined)
      throw invalid(index, `'${rule}' is part of '${writtenPath(above)}', which is already listed`);
    if (rules.indexOf(rule) !== index || read.indexOf(path) !== index)
      throw invalid(index, `'${rule}' is listed twice`);
  }
  const tree = paths.reduce((level, path) => withRule(level, stepsOf(path), all), all ? ALL : NONE);
  return ALWAYS_VISIBLE.reduce((level, name) => fieldTree(level.rest, new Map([...level.fields, [name, ALL]])), tree);
}

/** The visible fields of a document where nothing is granted. */
export const SYSTEM_ONLY: FieldTree = parseFieldRules([]);

function readRule(rule: string, index: number, all: boolean): string {
  const left = rule.startsWith('-');
  const path = left ? rule.slice(1) : rule;
  if (left && !all) {
    throw invalid(
      index,
      `'${rule}' excludes a field that is not included`,
      "Start with '*', or list the fields to include",
    );
  }
  if (!left && all) throw invalid(index, `'*' already includes '${rule}'`, "Remove it, or remove '*'");
  const stored = readPath(path, index);
  const [first = '', ...rest] = stepsOf(stored);
  if (ALWAYS_VISIBLE.includes(first))
    throw invalid(index, `'${path}' is always visible and can never be set`, 'Remove it');
  if ([first, ...rest].some(isPosition)) {
    throw invalid(
      index,
      `'${path}' is a position in an array`,
      'Rules apply to each element of an array: write items.cost',
    );
  }
  return stored;
}

function readPath(path: string, index: number): string {
  try {
    return storedPath(path);
  } catch (error) {
    throw invalid(index, error instanceof Error ? error.message : 'It is not a path');
  }
}

/** The level of a path, with the path and all below it included, or excluded. */
function withRule(level: FieldTree, [name = '', ...rest]: readonly string[], out: boolean): FieldTree {
  const before = level.fields.get(name) ?? (out ? ALL : NONE);
  const after = rest.length > 0 ? withRule(before, rest, out) : out ? NONE : ALL;
  return fieldTree(level.rest, new Map([...level.fields, [name, after]]));
}

function invalid(index: number, detail: string, hint?: string): MillraceError {
  const reported = hint === undefined ? detail : `${detail}. ${hint}`;
  return new MillraceError('invalid-policy', 'The fields of the policy are not valid', {
    issues: [{ pointer: `/${index}`, code: 'invalid-policy', detail: reported }],
  });
}
