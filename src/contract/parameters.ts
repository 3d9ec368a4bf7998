/** Parameters of requests as the contract describes them (OpenAPI 3.1, Parameter Object). Pure. */

/** One parameter of a request, of its path, its query or its headers. */
export interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required?: true;
  readonly description: string;
  readonly schema?: object;
  readonly content?: Readonly<Record<string, { readonly schema: object }>>;
  readonly style?: 'form';
  readonly explode?: boolean;
}

const TEXT = { type: 'string' };

/** A parameter of the path. Its name is the one in the route's URL. */
export function pathParameter(name: string, description: string, schema: object): Parameter {
  return { name, in: 'path', required: true, description, schema };
}

/** A parameter of the query; text without a schema. */
export function queryParameter(name: string, description: string, schema: object = TEXT): Parameter {
  return { name, in: 'query', description, schema };
}

/** A request header; text without a schema. */
export function headerParameter(name: string, description: string, schema: object = TEXT): Parameter {
  return { name, in: 'header', description, schema };
}

/** Preconditions of a write (RFC 9110 section 13.1). */
export const IF_MATCH = headerParameter(
  'If-Match',
  'Entity tags: the write happens only if the current state has one of these.',
);
export const IF_NONE_MATCH = headerParameter('If-None-Match', 'Entity tags of copies that the client has, or `*`.');

/** The id of an account, a session, a key: `id` is the name in the path. */
export function idParameter(name: string, what: string): Parameter {
  return pathParameter(name, `Id of ${what}.`, { type: 'string', minLength: 1, maxLength: 128 });
}
