/**
 * The sentences of `Millrace-Hint`: why a list is empty, unsorted or without a requested field. They are computed only
 * for such a list.
 */
import { readStored } from '../../database/bson/stored.ts';
import type { CollectionName } from '../../database/names.ts';
import { nearest } from '../../lib/did-you-mean.ts';
import { bindingsOf } from '../../policies/bindings.ts';
import type { Scope } from '../../policies/scope.ts';
import { bind } from '../../query/evaluate/bind-variables.ts';
import { requiredPaths } from '../../query/evaluate/required-paths.ts';
import { foreignCondition, foreignName } from '../../query/parse/foreign-names.ts';
import { missingDollars } from '../../query/parse/missing-dollar.ts';
import { RESERVED } from '../../query/parse/parse-query.ts';
import type { Query } from '../../query/parse/query.ts';
import { META_FIELDS, writtenPath } from '../../query/paths.ts';
import { brokenTimes, lostPluses } from './lost-pluses.ts';
import { otherOffsets, requestedTimes } from './offset-hints.ts';
import type { Sampled, SampledFields } from './sampled-fields.ts';
import { foreignValues, strangeKinds } from './value-hints.ts';

/** Sentences in one hint. */
const MAX_SENTENCES = 3;
/** Documents of a list whose times are checked. */
const MAX_COMPARED = 5;
/** Characters of a name in a hint. */
const MAX_NAME = 80;

const META_NAMES = META_FIELDS.map((field) => `_meta.${field}`);

/** Why a list without documents may be empty. Pages after the first get no hint: there a list may just end. */
export async function hintsForEmpty(
  fields: SampledFields,
  scope: Scope<'read'>,
  name: CollectionName,
  { filter, limit, cursor, skip }: Query,
  now: Date,
): Promise<readonly string[]> {
  if (limit === 0 || cursor !== null || skip > 0) return [];
  const bound = bind(filter, bindingsOf(scope.principal, now)).filter;
  const lost = lostPluses(bound);
  if (lost !== null && (await fields.some(scope, name, lost.filter)) === true) return [lost.sentence];
  const written = [...missingDollars(filter, writtenPath), ...foreignValues(bound), ...brokenTimes(filter)];
  const sampled = await fields.sample(scope, name, requiredPaths(bound));
  const strange = sampled === null ? [] : strangeKinds(bound, sampled);
  const times = requestedTimes(filter);
  const newest = times.length === 0 ? [] : await fields.newest(scope, name);
  const offsets = otherOffsets(times, newest);
  return [...written, ...sentences(sampled), ...strange, ...offsets].slice(0, MAX_SENTENCES);
}

/**
 * Why a list with documents may differ from the intended one.
 * @param documents the first ones of the list
 */
export function hintsForFound({ filter }: Query, documents: readonly Uint8Array[]): readonly string[] {
  const times = requestedTimes(filter);
  const offsets = times.length === 0 ? [] : otherOffsets(times, documents.slice(0, MAX_COMPARED).map(readStored));
  return [...brokenTimes(filter), ...offsets].slice(0, MAX_SENTENCES);
}

/** @param paths stored paths of requested fields that no document of the list has */
export async function hintsForLacking(
  fields: SampledFields,
  scope: Scope<'read'>,
  name: CollectionName,
  paths: readonly string[],
): Promise<readonly string[]> {
  return sentences(await fields.sample(scope, name, paths, true)).slice(0, MAX_SENTENCES);
}

function sentences(sampled: Sampled | null): string[] {
  if (sampled === null) return [];
  const { lacking, names, documents, all } = sampled;
  const none = all ? 'No document has' : `None of the newest ${documents} documents has`;
  return lacking.map((path) => {
    const meant = meaning(path, names);
    return `${none} the field '${path.slice(0, MAX_NAME)}'${meant === null ? '.' : meant}`;
  });
}

/** The end of the sentence: the probably intended name. */
function meaning(path: string, all: readonly string[]): string | null {
  // A truncated name would not work.
  const names = all.filter(({ length }) => length <= MAX_NAME);
  const reported = foreignName(path) ?? foreignCondition(path, names);
  if (reported !== null) return `. ${reported}`;
  const requested = path.toLowerCase();
  const within =
    names.find((name) => dotted(name) === dotted(path)) ??
    names.find((name) => dotted(name).endsWith(`.${requested}`)) ??
    [...names, ...META_NAMES].find((name) => bare(name) === bare(path));
  const near = within ?? nearest(path, [...names, ...RESERVED]);
  if (near === null) return null;
  const what = names.includes(near) || META_NAMES.includes(near) ? 'the field' : 'the parameter';
  return `; did you mean ${what} '${near}'?`;
}

/** The names of a path in lower case, joined by dots: what clients write that do not know `['…']`. */
function dotted(path: string): string {
  return path
    .toLowerCase()
    .replaceAll(/^\['|'\]$/g, '')
    .replaceAll(/'?\]?(?:\.|\[')/g, '.');
}

/** The last name of a path without letter case and separators: `created_at` and `_meta.createdAt` are equal. */
function bare(path: string): string {
  return (path.split('.').at(-1) ?? '').toLowerCase().replaceAll(/[-_\s]/g, '');
}
