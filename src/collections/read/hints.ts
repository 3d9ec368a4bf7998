/**
 * The sentences of `Millrace-Hint`: why an answer is empty or not sorted. They are made only for such an answer. Not
 * here: which members a sample shows (shown-members.ts), and which index is missing.
 */
import { type CollectionName, wirePath } from '../../database/names.ts';
import { nearest } from '../../kernel/nearest.ts';
import { bindingsOf } from '../../policies/bindings.ts';
import type { Scope } from '../../policies/scope.ts';
import { bind } from '../../query/evaluate/bind.ts';
import { requiredPaths } from '../../query/evaluate/required-paths.ts';
import { foreignName } from '../../query/parse/foreign-names.ts';
import { missingDollars } from '../../query/parse/missing-dollar.ts';
import { RESERVED } from '../../query/parse/parse-query.ts';
import type { Query } from '../../query/parse/query.ts';
import type { ShownMembers, Unshown } from './shown-members.ts';

/** Sentences about members in one hint. */
const MAX_SENTENCES = 3;
/** Characters of a name in a hint. */
const MAX_NAME = 80;

/** Why a list without documents may have found none. Pages after the first say nothing: there a list may just end. */
export async function hintsForEmpty(
  members: ShownMembers,
  scope: Scope<'read'>,
  name: CollectionName,
  { filter, limit, cursor, skip }: Query,
  now: Date,
): Promise<readonly string[]> {
  if (limit === 0 || cursor !== null || skip > 0) return [];
  const bound = bind(filter, bindingsOf(scope.principal, now)).filter;
  const unshown = await members.unshown(scope, name, requiredPaths(bound));
  return [...missingDollars(filter, wirePath), ...sentences(unshown)].slice(0, MAX_SENTENCES);
}

/** Why a list may not be sorted. @param keys stored paths of sort keys that no document of the answer has */
export async function hintsForUnsorted(
  members: ShownMembers,
  scope: Scope<'read'>,
  name: CollectionName,
  keys: readonly string[],
): Promise<readonly string[]> {
  return sentences(await members.unshown(scope, name, keys)).slice(0, MAX_SENTENCES);
}

function sentences(unshown: Unshown | null): string[] {
  if (unshown === null) return [];
  const { paths, names, documents, all } = unshown;
  const none = all ? 'No document has' : `None of the newest ${documents} documents has`;
  return paths.map((path) => {
    const meant = meaning(path, names);
    return `${none} the member '${path.slice(0, MAX_NAME)}'${meant === null ? '.' : meant}`;
  });
}

/** The end of the sentence: what was probably meant instead of the name. */
function meaning(path: string, names: readonly string[]): string | null {
  const told = foreignName(path);
  if (told !== null) return `. ${told}`;
  const within = names.find((name) => name.toLowerCase().endsWith(`.${path.toLowerCase()}`));
  const near = within ?? nearest(path, [...names, ...RESERVED]);
  if (near === null) return null;
  const what = names.includes(near) ? 'the member' : 'the parameter';
  return `; did you mean ${what} '${near.slice(0, MAX_NAME)}'?`;
}
