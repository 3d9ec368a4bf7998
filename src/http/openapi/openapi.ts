/** Builds the OpenAPI 3.1 document of this server from the declarations of its routes. Pure. */
import type { CollectionEntry } from '../../collections/schema/collection-list.ts';
import { DOCUMENT_JSON_SCHEMA, STORED_DOCUMENT_SCHEMA } from '../../database/json/document-openapi-schemas.ts';
import type { ErrorCode } from '../../lib/errors.ts';
import {
  type DeclaredOperation,
  type DescribedCollection,
  JSON_BODY_ERRORS,
  type OpenApiTag,
  type Operation,
} from '../../openapi/operation.ts';
import { namedSchema, pascalCase } from '../../openapi/schema.ts';
import { hasCodeGeneratorPrefix, OpenApiComponents, UniqueTypeNames } from './components.ts';
import { type NamedCollection, type OpenApiOperation, writeOpenApiOperation } from './openapi-operation.ts';

/** A route in the document. */
export interface DeclaredRoute {
  /** In lower case, as OpenAPI writes it. */
  readonly method: string;
  /** With parameters in braces: `/api/{collection}`. */
  readonly path: string;
  readonly declaration: DeclaredOperation;
  /** True if it accepts and returns JSON alone: then it has the errors of all such routes. */
  readonly speaksJson: boolean;
}

/** An HTTP function of an enabled plugin. */
export interface HttpFunctionSummary {
  readonly plugin: string;
  /** In lower case. */
  readonly method: string;
  readonly path: string;
  readonly operation: Operation;
}

type Paths = Record<string, Record<string, OpenApiOperation>>;

export interface OpenApiDocument {
  readonly openapi: '3.1.0';
  readonly info: {
    readonly title: string;
    readonly version: string;
    readonly license: object;
    readonly description: string;
  };
  readonly servers: readonly { readonly url: string }[];
  readonly security: readonly object[];
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Paths>;
  readonly components: {
    readonly schemas: Readonly<Record<string, object>>;
    readonly parameters: Readonly<Record<string, object>>;
    readonly responses: Readonly<Record<string, object>>;
    readonly headers: Readonly<Record<string, object>>;
    readonly securitySchemes: Readonly<Record<string, object>>;
  };
}

const TAGS: Readonly<Record<OpenApiTag, string>> = {
  documents: 'Any collection; the first document creates it.',
  files: 'Binary content with a document that describes it.',
  events: 'Every change, in order, from any retained position.',
  webhooks: 'Events sent to other servers, signed, with retries.',
  functions: 'Your own code, in plugins: HTTP functions, triggers, cron jobs, jobs and write hooks.',
  auth: 'Users, sessions and tokens.',
  admin: 'For operators of this server.',
};

const ANY: DescribedCollection = { many: 'documents', one: 'a document', document: STORED_DOCUMENT_SCHEMA };

/**
 * @param routes all that belong to the document
 * @param collections those that are described one by one, besides the paths for any
 * @param endpoints those of plugins
 * @param basePath the path below which clients reach this server; empty for none
 */
export function toOpenApi(
  routes: readonly DeclaredRoute[],
  collections: readonly CollectionEntry[],
  version: string,
  endpoints: readonly HttpFunctionSummary[] = [],
  basePath = '',
): OpenApiDocument {
  const components = new OpenApiComponents();
  const paths: Paths = {};
  const put = (
    path: string,
    { method, speaksJson }: DeclaredRoute,
    declared: Operation,
    collection?: NamedCollection,
  ) => {
    const operation = speaksJson ? { ...declared, errors: [...declared.errors, ...jsonErrors(method)] } : declared;
    paths[path] = { ...paths[path], [method]: writeOpenApiOperation(operation, components, collection) };
  };
  const titles = titlesOf(collections);
  for (const collection of collections) {
    const named = { tag: tagOf(collection.name), title: titles.get(collection.name) ?? '' };
    const subject = subjectOf(collection, named.title);
    for (const route of routes) {
      const { path, declaration } = route;
      if (declaration.kind !== 'of-collection') continue;
      put(path.replace('{collection}', collection.name), route, declaration.operation(subject), named);
    }
  }
  for (const route of routes) put(route.path, route, generalOperation(route.declaration));
  const ids = new UniqueTypeNames();
  for (const { plugin, method, path, operation } of endpoints) {
    const written = writeOpenApiOperation({ ...operation, id: ids.unique(operation.id) }, components);
    paths[path] = { ...paths[path], [method]: { ...written, tags: [pluginTag(plugin)] } };
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Millrace',
      version,
      license: { name: 'MIT', identifier: 'MIT' },
      description:
        'Documents, files and events over HTTP. Every GET path also supports HEAD, OPTIONS lists the methods of a path, and ' +
        'every failure is a problem document with a stable code. For administrators the request header `Millrace-Explain: 1` ' +
        'returns a header of the same name with the policies that decided.',
    },
    servers: [{ url: basePath || '/' }],
    security: [{}, { bearer: [] }],
    tags: [
      ...Object.entries(TAGS).map(([name, description]) => ({ name, description })),
      ...collections.map(({ name, sampled }) => ({
        name: tagOf(name),
        description: `The collection ${name}; its fields are those of its ${sampled} newest documents.`,
      })),
      ...[...new Set(endpoints.map(({ plugin }) => plugin))].map((plugin) => ({
        name: pluginTag(plugin),
        description: `HTTP functions of the plugin ${plugin}.`,
      })),
    ],
    paths,
    components: {
      schemas: components.schemas,
      parameters: components.parameters,
      responses: components.responses,
      headers: components.headers,
      securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } },
    },
  };
}

/** The name of each collection in names of operations and schemas. That of any collection has another in the same place. */
function titlesOf(collections: readonly CollectionEntry[]): ReadonlyMap<string, string> {
  const titles = new UniqueTypeNames('Stored');
  const names = collections.map(({ name }) => name);
  const [prefixed = [], others = []] = [true, false].map((is) =>
    names.filter((name) => hasCodeGeneratorPrefix(pascalCase(name)) === is),
  );
  return new Map([...others, ...prefixed].map((name) => [name, titles.unique(pascalCase(name))]));
}

/** A tag is selected by its name, or with all others of its kind by the part before the slash. */
function tagOf(collection: string): string {
  return `documents/${collection}`;
}

function pluginTag(plugin: string): string {
  return `functions/${plugin}`;
}

/** The operation in its general form, for any collection. */
export function generalOperation(declaration: DeclaredOperation): Operation {
  return declaration.kind === 'operation' ? declaration.operation : declaration.operation(ANY);
}

/** The errors of all routes of this method that use JSON. */
function jsonErrors(method: string): readonly ErrorCode[] {
  return method === 'get' ? ['not-acceptable'] : ['not-acceptable', ...JSON_BODY_ERRORS];
}

function subjectOf({ name, fields }: CollectionEntry, title: string): DescribedCollection {
  const { id: _id, _meta, ...properties } = fields;
  const description = `A document of ${name}. A collection declares no schema: the next document may differ.`;
  const document = namedSchema(`${title}Document`, {
    ...DOCUMENT_JSON_SCHEMA,
    description,
    properties: { ...DOCUMENT_JSON_SCHEMA.properties, ...properties },
  });
  return { many: name, one: `one of ${name}`, document };
}
