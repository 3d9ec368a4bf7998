/** Request parameters in the OpenAPI document (OpenAPI 3.1, Parameter Object). Pure. */

/** One parameter of a request: of its path, its query or its headers. */
export interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required?: true;
  readonly description: string;
  readonly schema: object;
  readonly style?: 'form';
  readonly explode?: boolean;
  /** What it means, if another parameter has the same name: its component is named after this. */
  readonly meaning?: string;
}

const TEXT = { type: 'string' };

/** A path parameter. Its name is the one in the route's URL. */
export function pathParameter(name: string, description: string, schema: object, meaning?: string): Parameter {
  return { name, in: 'path', required: true, description, schema, ...(meaning === undefined ? {} : { meaning }) };
}

/** A query parameter; text without a schema. */
export function queryParameter(name: string, description: string, schema: object = TEXT, meaning?: string): Parameter {
  return { name, in: 'query', description, schema, ...(meaning === undefined ? {} : { meaning }) };
}

/** A request header; text without a schema. */
export function headerParameter(name: string, description: string, schema: object = TEXT, meaning?: string): Parameter {
  return { name, in: 'header', description, schema, ...(meaning === undefined ? {} : { meaning }) };
}

/** Preconditions of a write (RFC 9110 section 13.1). */
export const IF_MATCH = headerParameter(
  'If-Match',
  'Entity tags: the write happens only if the current state has one of these.',
);
export const IF_NONE_MATCH = headerParameter('If-None-Match', 'Entity tags of copies on the client, or `*`.');

/**
 * The id of an account, a session, a key: `id` is the name in the path.
 * @param meaning names its component, such as `sessionId`
 */
export function idParameter(name: string, what: string, meaning: string): Parameter {
  return pathParameter(name, `Id of ${what}.`, { type: 'string', minLength: 1, maxLength: 128 }, meaning);
}

/** Parameters of pages of lists. */
export function pageLimitParameter(maximum: number): Parameter {
  return queryParameter('limit', 'The most items of a page.', { type: 'integer', minimum: 1, maximum }, 'pageLimit');
}
export const PAGE_CURSOR_PARAMETER = queryParameter(
  'cursor',
  'Where the page begins: from `Link`, or the `Millrace-Next` of the page before.',
  TEXT,
  'pageCursor',
);
