/**
 * The queries of the torture test's subscribers, and what a client may expect of each, in plain functions that share
 * nothing with the product's own filters and windows.
 */
import type { Random } from '../../helpers/random.ts';

/** A document as clients see it. */
export type Shown = Readonly<Record<string, unknown>> & { readonly id: string };

export interface DocumentQuery {
  readonly kind: 'documents';
  readonly name: string;
  readonly collection: string;
  readonly query: {
    readonly filter: object;
    readonly sort?: string;
    readonly limit?: number;
    readonly fields?: readonly string[];
  };
  readonly matches: (document: Shown) => boolean;
  readonly cut: (document: Shown) => Shown;
  /** The sort field and its direction; null if the client gave no order. */
  readonly sort: { readonly by: string; readonly direction: 1 | -1 } | null;
}

export interface EventQuery {
  readonly kind: 'events';
  readonly name: string;
  readonly types: readonly string[];
  readonly filter: object;
  readonly matches: (event: ReceivedEvent) => boolean;
}

export type Query = DocumentQuery | EventQuery;

/** An event as clients see it, as far as it is checked. */
export interface ReceivedEvent {
  readonly id: string;
  readonly type: string;
  readonly documentId: string | null;
  readonly transaction: string | null;
  readonly data: Shown | null;
  readonly before: Shown | null;
}

/** Where most is written, and where only transactions write. */
export const BOARD = 'board';
export const ORDERS = 'orders';
/** Values of the field `group` from 0. */
export const GROUPS = 8;

const whole = (document: Shown): Shown => document;

function board(name: string, query: DocumentQuery['query'], matches: DocumentQuery['matches']): DocumentQuery {
  const by = query.sort?.replace('-', '');
  const fields = query.fields;
  return {
    kind: 'documents',
    name,
    collection: BOARD,
    query,
    matches,
    cut: fields === undefined ? whole : (document) => picked(document, fields),
    sort: by === undefined ? null : { by, direction: query.sort?.startsWith('-') ? -1 : 1 },
  };
}

function picked(document: Shown, fields: readonly string[]): Shown {
  const shown = Object.entries(document).filter(([name]) => name === 'id' || fields.includes(name));
  return { id: document.id, ...Object.fromEntries(shown) };
}

/** The compare function of a query's order; by id without one. */
export function order({ sort }: DocumentQuery): (a: Shown, b: Shown) => number {
  return (a, b) => {
    const difference = sort === null ? 0 : (Number(a[sort.by]) - Number(b[sort.by])) * sort.direction;
    return difference || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0);
  };
}

const inGroup = (group: number) => (document: Shown) => document['group'] === group;
const onShelf = (document: Shown) => document['shelf'] === true;

/** Groups in queries: few, so that several subscribers of a server share a query. */
const REQUESTED_GROUPS = 3;

/** Queries for documents, on any connection. */
export function documentQueries(random: Random): readonly DocumentQuery[] {
  const group = () => random.below(REQUESTED_GROUPS);
  const [a, b, c] = [group(), group(), group()];
  const id = `b${random.below(8)}`;
  return [
    board(`group ${a}`, { filter: { group: a } }, inGroup(a)),
    board(`sorted group ${b}`, { filter: { group: b }, sort: '-v' }, inGroup(b)),
    board('quiet window', { filter: { shelf: true }, sort: 'v', limit: 5 }, onShelf),
    board(`one document ${id}`, { filter: { id } }, (document) => document.id === id),
    board('low values', { filter: { v: { $lt: 25 } }, fields: ['v'] }, ({ v }) => Number(v) < 25),
    board(`busy window ${c}`, { filter: { group: c }, sort: '-v', limit: 5 }, inGroup(c)),
  ];
}

/** Queries for events, on sockets only. */
export function eventQueries(random: Random): readonly EventQuery[] {
  const group = random.below(REQUESTED_GROUPS);
  return [
    {
      kind: 'events',
      name: `left group ${group}`,
      types: [`${BOARD}.updated`, `${BOARD}.deleted`],
      filter: { 'before.group': group },
      matches: ({ type, before }) => type !== `${BOARD}.created` && isOf(BOARD, type) && before?.['group'] === group,
    },
    {
      kind: 'events',
      name: 'orders',
      types: [`${ORDERS}.*`],
      filter: {},
      matches: ({ type }) => isOf(ORDERS, type),
    },
  ];
}

const isOf = (collection: string, type: string) => type.startsWith(`${collection}.`);
