/**
 * The state in the URL of the page: the filter as REST query text, the sort, the columns, the open document. So a view
 * is a link, and the filter is what a program sends.
 */
import { SERVER } from '../../../api/server.ts';
import { curl } from '../../../parts/curl-command.ts';
import { textOf } from '../../../parts/search-param-text.ts';

export const TABS = ['documents', 'indexes'] as const;
export const SIDES = ['form', 'json', 'history'] as const;

export interface DataSearch {
  /** Conditions as in a list: `done=false&seq[gte]=3` (docs/api.md). */
  readonly q?: string | undefined;
  /** `-year,title`; by default the newest ids come first. */
  readonly sort?: string | undefined;
  /** Fields separated by commas; by default those that most documents have. */
  readonly columns?: string | undefined;
  /** The id of the open document; NEW for one that is being created. */
  readonly doc?: string | undefined;
  /** How the open document is shown. */
  readonly side?: (typeof SIDES)[number] | undefined;
  /** The document that a new one is copied from. */
  readonly copy?: string | undefined;
  readonly tab?: (typeof TABS)[number] | undefined;
  /** Fields of an index to create, separated by commas. */
  readonly index?: string | undefined;
  /** The impersonated principal: the value of `Millrace-As`. */
  readonly as?: string | undefined;
}

/** No id starts with `_`. */
export const NEW = '_new';
/** Ids that the server generates grow with time. */
export const NEWEST_FIRST = '-id';

/** URLs are also written by hand: invalid parts are ignored. */
export function readSearch(given: Record<string, unknown>): DataSearch {
  return {
    q: textOf(given['q']),
    sort: textOf(given['sort']),
    columns: textOf(given['columns']),
    doc: textOf(given['doc']),
    side: SIDES.find((side) => side === given['side']),
    copy: textOf(given['copy']),
    tab: TABS.find((tab) => tab === given['tab']),
    index: textOf(given['index']),
    as: textOf(given['as']),
  };
}

export function pathOf(collection: string, id?: string): string {
  const path = `/api/${encodeURIComponent(collection)}`;
  return id === undefined ? path : `${path}/${encodeURIComponent(id)}`;
}

/**
 * The URL of the current list, without limit and cursor. With impersonation all fields are requested: naming one that
 * is hidden from the principal would be rejected.
 */
export function listPath(collection: string, { q, sort = NEWEST_FIRST, columns, as }: DataSearch): string {
  const rest = new URLSearchParams({ sort, ...(columns === undefined || as !== undefined ? {} : { fields: columns }) });
  return `${pathOf(collection)}?${[q, rest.toString()].filter((part) => part !== undefined && part !== '').join('&')}`;
}

/** The same list as a command, readable: brackets and commas unescaped. */
export function curlOf(collection: string, search: DataSearch): string {
  const path = listPath(collection, search).replaceAll('%2C', ',').replaceAll('%5B', '[').replaceAll('%5D', ']');
  const header = search.as === undefined ? '' : ` -H ${quoted(`millrace-as: ${search.as}`)}`;
  return `${curl(`-g ${quoted(SERVER + path)}`)}${header}`;
}

/** As one word of a shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
