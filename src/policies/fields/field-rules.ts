/**
 * Parses the rules by which a policy selects fields, `["*","-secret"]` or `["title","author.name"]`, into a tree. Pure.
 */
import { MillraceError } from '../../lib/errors.ts';
import { ALWAYS_VISIBLE_FIELDS } from '../../lib/server-fields.ts';
import { createFieldTree, EMPTY_FIELD_TREE, type FieldTree, FULL_FIELD_TREE } from '../../query/evaluate/field-tree.ts';
import { clientPath, clientToStoredPath, isArrayPosition, splitPath } from '../../query/field-paths.ts';

/**
 * Parses the rules: all fields but some, or some.
 * @returns a tree that includes `_id` and `_meta`
 * @throws MillraceError `invalid-policy` with the JSON Pointer of the rule
 */
export function parseFieldRules(rules: readonly string[] | undefined): FieldTree {
  if (rules === undefined) return FULL_FIELD_TREE;
  const all = rules.includes('*');
  const read = rules.map((rule, index) => (rule === '*' ? null : readRule(rule, index, all)));
  const paths = read.filter((path) => path !== null);
  for (const [index, path] of read.entries()) {
    const rule = rules[index] ?? '';
    const above = paths.find((other) => path?.startsWith(`${other}.`));
    if (above !== undefined)
      throw invalid(index, `'${rule}' is part of '${clientPath(above)}', which is already listed`);
    if (rules.indexOf(rule) !== index || read.indexOf(path) !== index)
      throw invalid(index, `'${rule}' is listed twice`);
  }
  const tree = paths.reduce(
    (level, path) => withRule(level, splitPath(path), all),
    all ? FULL_FIELD_TREE : EMPTY_FIELD_TREE,
  );
  return ALWAYS_VISIBLE_FIELDS.reduce(
    (level, name) => createFieldTree(level.rest, new Map([...level.fields, [name, FULL_FIELD_TREE]])),
    tree,
  );
}

/** The visible fields of a document where nothing is granted. */
export const SYSTEM_FIELDS_ONLY: FieldTree = parseFieldRules([]);

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
  const [first = '', ...rest] = splitPath(stored);
  if (ALWAYS_VISIBLE_FIELDS.includes(first))
    throw invalid(index, `'${path}' is always visible and can never be set`, 'Remove it');
  if ([first, ...rest].some(isArrayPosition)) {
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
    return clientToStoredPath(path);
  } catch (error) {
    throw invalid(index, error instanceof Error ? error.message : 'It is not a path');
  }
}

/** The level of a path, with the path and all below it included, or excluded. */
function withRule(level: FieldTree, [name = '', ...rest]: readonly string[], out: boolean): FieldTree {
  const before = level.fields.get(name) ?? (out ? FULL_FIELD_TREE : EMPTY_FIELD_TREE);
  const after = rest.length > 0 ? withRule(before, rest, out) : out ? EMPTY_FIELD_TREE : FULL_FIELD_TREE;
  return createFieldTree(level.rest, new Map([...level.fields, [name, after]]));
}

function invalid(index: number, detail: string, hint?: string): MillraceError {
  const reported = hint === undefined ? detail : `${detail}. ${hint}`;
  return new MillraceError('invalid-policy', 'The fields of the policy are not valid', {
    issues: [{ pointer: `/${index}`, code: 'invalid-policy', detail: reported }],
  });
}
