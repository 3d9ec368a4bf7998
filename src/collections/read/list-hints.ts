/**
 * The sentences of `Millrace-Hint`: why a list is empty, unsorted or without a requested field. They are computed only
 * for such a list.
 */
import { decodeDocument } from '../../database/bson/stored-document.ts';
import { FIRST_BATCH_SIZE } from '../../database/cursors/open-cursor.ts';
import type { CollectionName } from '../../database/parse-collection-name.ts';
import { nearestName } from '../../lib/did-you-mean.ts';
import { principalBindings } from '../../policies/bindings.ts';
import type { Scope } from '../../policies/scope.ts';
import { restrictFilterToScopes } from '../../policies/scope-filter.ts';
import { bindVariables } from '../../query/evaluate/bind-variables.ts';
import { compileMatcher } from '../../query/evaluate/match.ts';
import { clientPath, META_FIELDS } from '../../query/field-paths.ts';
import type { Filter } from '../../query/filter.ts';
import { pathsInFilter } from '../../query/filter.ts';
import { foreignConditionHint, foreignParameterHint } from '../../query/parse/foreign-syntax-hints.ts';
import { missingDollarHints } from '../../query/parse/missing-dollar.ts';
import { RESERVED_PARAMETERS } from '../../query/parse/parse-query.ts';
import type { Query } from '../../query/parse/query.ts';
import type { MissingIndexHints } from '../store/missing-index-hints.ts';
import type { DocumentStore } from '../store/store.ts';
import { type DocumentList, MISSING_FIELD_SAMPLE_SIZE } from './list.ts';
import { findLostPluses, invalidTimeHints } from './plus-sign-hints.ts';
import { type SampledFieldKinds, SampledFields } from './sampled-fields.ts';
import { findTimeComparisons, timeOffsetHints } from './time-offset-hints.ts';
import { otherBackendSyntaxHints, valueTypeHints } from './value-hints.ts';

/** Sentences in one hint. */
const MAX_SENTENCES = 3;
/** Documents of a list whose times are checked. */
const MAX_COMPARED = 5;
/** Characters of a name in a hint. */
const MAX_NAME = 80;

const META_NAMES = META_FIELDS.map((field) => `_meta.${field}`);

export interface ListHintsDeps {
  readonly store: DocumentStore;
  readonly missingIndexes: MissingIndexHints;
  /** Milliseconds from which a list counts as slow. */
  readonly slowQueryMs: number;
}

/** A list of which the first documents have been read. */
export interface ListedQuery {
  readonly scope: Scope<'read'>;
  readonly name: CollectionName;
  readonly query: Query;
  readonly list: DocumentList;
  /** How long reading took. */
  readonly tookMs: number;
}

export class ListHints {
  readonly #deps: ListHintsDeps;
  readonly #fields: SampledFields;

  constructor(deps: ListHintsDeps) {
    this.#deps = deps;
    this.#fields = new SampledFields(deps.store);
  }

  /** Sentences about a list that is probably not the intended one. */
  async of(listed: ListedQuery, now: Date): Promise<readonly string[]> {
    const { scope, name, query, tookMs } = listed;
    const { documents, next, unsorted } = listed.list;
    const isEmpty = documents.length === 0;
    const hints: string[] = [];
    if (isEmpty && next === null) hints.push(...(await emptyListHints(this.#fields, scope, name, query, now)));
    if (!isEmpty) hints.push(...nonEmptyListHints(query, documents));
    const lacking = [...unsorted, ...this.#unshown(scope, name, query, documents)];
    if (lacking.length > 0) hints.push(...(await missingFieldHints(this.#fields, scope, name, lacking)));
    // A field that no document has needs no index.
    if (hints.length > 0 || tookMs <= this.#deps.slowQueryMs) return hints;
    const { sort, skip, limit } = query;
    const requested = bindVariables(query.filter, principalBindings(scope.principal, now)).filter;
    const granted = [...scope.grants.map(({ filter }) => filter), scope.denied];
    const paths = new Set([requested, ...granted].flatMap((filter) => [...pathsInFilter(filter)]));
    const filter = restrictFilterToScopes(requested, scope);
    const goesOn = limit === null && documents.length >= FIRST_BATCH_SIZE;
    const slow = { name, requested, filter, paths, sort, skip, limit, found: goesOn ? null : documents.length, tookMs };
    return this.#deps.missingIndexes.hints(slow);
  }

  /** The stored paths of requested fields that the first documents of a list lack. */
  #unshown(
    scope: Scope<'read'>,
    name: CollectionName,
    { fields, expand }: Query,
    documents: readonly Uint8Array[],
  ): readonly string[] {
    const shown = fields?.mode === 'include' ? fields.paths : [];
    const requested = new Set([...shown, ...expand.map(({ path }) => path)].filter((path) => !path.startsWith('_')));
    if (requested.size === 0 || documents.length === 0) return [];
    const unknown = this.#fields.unknownFields(scope, name, [...requested]);
    return unknown.length === 0
      ? []
      : this.#fields.rememberFields(scope, name, unknown, documents.slice(0, MISSING_FIELD_SAMPLE_SIZE));
  }
}

/** Why a list without documents may be empty. Pages after the first get no hint: there a list may just end. */
async function emptyListHints(
  fields: SampledFields,
  scope: Scope<'read'>,
  name: CollectionName,
  { filter, limit, cursor, skip }: Query,
  now: Date,
): Promise<readonly string[]> {
  if (limit === 0 || cursor !== null || skip > 0) return [];
  const bound = bindVariables(filter, principalBindings(scope.principal, now)).filter;
  const lost = findLostPluses(bound);
  if (lost !== null && (await fields.hasMatch(scope, name, lost.filter)) === true) return [lost.sentence];
  const written = [
    ...missingDollarHints(filter, clientPath),
    ...otherBackendSyntaxHints(bound),
    ...invalidTimeHints(filter),
  ];
  const sampled = await fields.sample(scope, name, requiredPaths(bound));
  const strange = sampled === null ? [] : valueTypeHints(bound, sampled);
  const times = findTimeComparisons(filter);
  const newest = times.length === 0 ? [] : await fields.newestDocuments(scope, name);
  const offsets = timeOffsetHints(times, newest);
  return [...written, ...sentences(sampled), ...strange, ...offsets].slice(0, MAX_SENTENCES);
}

/**
 * Why a list with documents may differ from the intended one.
 * @param documents the first ones of the list
 */
function nonEmptyListHints({ filter }: Query, documents: readonly Uint8Array[]): readonly string[] {
  const times = findTimeComparisons(filter);
  const offsets =
    times.length === 0 ? [] : timeOffsetHints(times, documents.slice(0, MAX_COMPARED).map(decodeDocument));
  return [...invalidTimeHints(filter), ...offsets].slice(0, MAX_SENTENCES);
}

/** @param paths stored paths of requested fields that no document of the list has */
async function missingFieldHints(
  fields: SampledFields,
  scope: Scope<'read'>,
  name: CollectionName,
  paths: readonly string[],
): Promise<readonly string[]> {
  return sentences(await fields.sample(scope, name, paths, true)).slice(0, MAX_SENTENCES);
}

function sentences(sampled: SampledFieldKinds | null): string[] {
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
  const reported = foreignParameterHint(path) ?? foreignConditionHint(path, names);
  if (reported !== null) return `. ${reported}`;
  const requested = path.toLowerCase();
  const within =
    names.find((name) => dotted(name) === dotted(path)) ??
    names.find((name) => dotted(name).endsWith(`.${requested}`)) ??
    [...names, ...META_NAMES].find((name) => bare(name) === bare(path));
  const near = within ?? nearestName(path, [...names, ...RESERVED_PARAMETERS]);
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

/**
 * The stored paths of the conditions that a document without fields does not pass. Paths under `$nor` are left out:
 * documents without the field pass there. Of `$elemMatch`, only the path of the array is included.
 */
function requiredPaths(filter: Filter): ReadonlySet<string> {
  if (filter.kind === 'field') return new Set(compileMatcher(filter)({}) ? [] : [filter.path]);
  if (filter.kind === 'nor') return new Set();
  return new Set(filter.filters.flatMap((inner) => [...requiredPaths(inner)]));
}
