/**
 * The rules by which a policy names members, `["*","-secret"]` or `["title","author.name"]`, read into a tree. Pure.
 * Not here: what is done with the tree (field-tree.ts).
 */
import { MillraceError } from '../../kernel/errors.ts';
import { ALWAYS_VISIBLE } from '../../kernel/server-members.ts';
import { ALL, type FieldTree, fieldTree, NONE } from '../../query/evaluate/field-tree.ts';
import { isPosition, stepsOf, storedPath, writtenPath } from '../../query/paths.ts';

/**
 * Reads the rules: all members but some, or some.
 * @returns a tree in which `_id` and `_meta` are in
 * @throws MillraceError `invalid-policy` with the place of the rule
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
      throw invalid(index, `'${rule}' lies within '${writtenPath(above)}', which is named already`);
    if (rules.indexOf(rule) !== index || read.indexOf(path) !== index) throw invalid(index, `'${rule}' is named twice`);
  }
  const tree = paths.reduce((level, path) => withRule(level, stepsOf(path), all), all ? ALL : NONE);
  return ALWAYS_VISIBLE.reduce((level, name) => fieldTree(level.rest, new Map([...level.members, [name, ALL]])), tree);
}

/** The members that are shown of a document where nothing is granted. */
export const SYSTEM_ONLY: FieldTree = parseFieldRules([]);

function readRule(rule: string, index: number, all: boolean): string {
  const left = rule.startsWith('-');
  const path = left ? rule.slice(1) : rule;
  if (left && !all) {
    throw invalid(
      index,
      `'${rule}' excludes a member that is not included`,
      "Begin with '*', or name the members to include",
    );
  }
  if (!left && all) throw invalid(index, `'*' already includes '${rule}'`, "Leave it out, or leave '*' out");
  const stored = readPath(path, index);
  const [first = '', ...rest] = stepsOf(stored);
  if (ALWAYS_VISIBLE.includes(first)) throw invalid(index, `'${path}' is always seen and never set`, 'Leave it out');
  if ([first, ...rest].some(isPosition)) {
    throw invalid(index, `'${path}' names a place in an array`, 'Rules look through arrays: write items.cost');
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

/** The level with a path and all below it included, or excluded. */
function withRule(level: FieldTree, [name = '', ...rest]: readonly string[], out: boolean): FieldTree {
  const before = level.members.get(name) ?? (out ? ALL : NONE);
  const after = rest.length > 0 ? withRule(before, rest, out) : out ? NONE : ALL;
  return fieldTree(level.rest, new Map([...level.members, [name, after]]));
}

function invalid(index: number, detail: string, hint?: string): MillraceError {
  const told = hint === undefined ? detail : `${detail}. ${hint}`;
  return new MillraceError('invalid-policy', 'The fields of the policy are not valid', {
    faults: [{ pointer: `/${index}`, code: 'invalid-policy', detail: told }],
  });
}
