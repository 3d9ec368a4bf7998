/**
 * The contract of this server as OpenAPI 3.1, made from the declarations of its routes. Pure. Not here: collecting the
 * routes (declared-routes.ts) and the collections (contract.ts).
 */
import type { SeenCollection } from '../../collections/sample/seen-collections.ts';
import { HEADERS } from '../../contract/headers.ts';
import {
  BODY_ERRORS,
  type DeclaredOperation,
  type Operation,
  type Subject,
  type Tag,
} from '../../contract/operation.ts';
import { shape } from '../../contract/schema.ts';
import { DOCUMENT_SHAPE } from '../../database/json/document-shapes.ts';
import type { ErrorCode } from '../../kernel/errors.ts';
import { Components } from './components.ts';
import { type WrittenOperation, writeOperation } from './write-operation.ts';

/** A route that belongs to the contract. */
export interface DeclaredRoute {
  /** In small letters, as OpenAPI writes it. */
  readonly method: string;
  /** With parameters in braces: `/api/{collection}`. */
  readonly path: string;
  readonly declaration: DeclaredOperation;
  /** True if it takes and answers JSON alone: then it has the refusals of all such routes. */
  readonly speaksJson: boolean;
}

/** An endpoint of a plugin that is in force. */
export interface ToldEndpoint {
  readonly plugin: string;
  /** In small letters. */
  readonly method: string;
  readonly path: string;
  readonly operation: Operation;
}

type Paths = Record<string, Record<string, WrittenOperation>>;

export interface OpenApi {
  readonly openapi: '3.1.0';
  readonly info: { readonly title: string; readonly version: string; readonly description: string };
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

const TAGS: Readonly<Record<Tag, string>> = {
  Documents: 'Any collection; the first document creates it.',
  Files: 'Bytes with a document that describes them.',
  Events: 'Every change, in order, from any position that is kept.',
  Webhooks: 'Events sent to servers of others, signed, until they arrive.',
  Functions: 'Code of your own, in plugins: endpoints, triggers, crons, jobs, and what comes before a write.',
  'Sign-in': 'Accounts, sessions and tokens.',
  'Running it': 'For operators of this server.',
};

const ANY: Subject = { many: 'documents', one: 'a document', document: DOCUMENT_SHAPE };

/**
 * @param routes all that belong to the contract
 * @param collections those that are described one by one, besides the paths for any
 * @param endpoints those of plugins
 * @param basePath the path below which clients reach this server; empty for none
 */
export function toOpenApi(
  routes: readonly DeclaredRoute[],
  collections: readonly SeenCollection[],
  version: string,
  endpoints: readonly ToldEndpoint[] = [],
  basePath = '',
): OpenApi {
  const components = new Components();
  const paths: Paths = {};
  const put = (path: string, { method, speaksJson }: DeclaredRoute, declared: Operation, collection?: string) => {
    const operation = speaksJson ? { ...declared, errors: [...declared.errors, ...jsonErrors(method)] } : declared;
    paths[path] = { ...paths[path], [method]: writeOperation(operation, components, collection) };
  };
  for (const collection of collections) {
    const subject = subjectOf(collection);
    for (const route of routes) {
      const { path, declaration } = route;
      if (declaration.kind !== 'of-collection') continue;
      put(path.replace('{collection}', collection.name), route, declaration.operation(subject), collection.name);
    }
  }
  for (const route of routes) put(route.path, route, inGeneral(route.declaration));
  for (const { plugin, method, path, operation } of endpoints) {
    const written = writeOperation(operation, components);
    paths[path] = { ...paths[path], [method]: { ...written, tags: [tagOf(plugin)] } };
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Millrace',
      version,
      description:
        'Documents, files and events over HTTP. Every GET answers HEAD too, OPTIONS names the methods of a path, and ' +
        'every failure is a problem document with a stable code. For owners the request header `Millrace-Explain: 1` ' +
        'brings a header of the same name that says which policies decided.',
    },
    servers: [{ url: basePath || '/' }],
    security: [{}, { bearer: [] }],
    tags: [
      ...Object.entries(TAGS).map(([name, description]) => ({ name, description })),
      ...collections.map(({ name, sampled }) => ({
        name,
        description: `The collection ${name}; its members are those of its ${sampled} newest documents.`,
      })),
      ...[...new Set(endpoints.map(({ plugin }) => plugin))].map((plugin) => ({
        name: tagOf(plugin),
        description: `Endpoints of the plugin ${plugin}.`,
      })),
    ],
    paths,
    components: {
      schemas: components.schemas,
      parameters: components.parameters,
      responses: components.responses,
      headers: HEADERS,
      securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } },
    },
  };
}

/** No collection has such a name. */
function tagOf(plugin: string): string {
  return `Plugin ${plugin}`;
}

/** The operation in its general form, for any collection. */
export function inGeneral(declaration: DeclaredOperation): Operation {
  return declaration.kind === 'operation' ? declaration.operation : declaration.operation(ANY);
}

/** The refusals of all routes of this method that speak JSON. */
function jsonErrors(method: string): readonly ErrorCode[] {
  return method === 'get' ? ['not-acceptable'] : ['not-acceptable', ...BODY_ERRORS];
}

function subjectOf({ name, members }: SeenCollection): Subject {
  const { id: _id, _meta, ...properties } = members;
  const description = `A document of ${name}. A collection declares no schema: the next document may differ.`;
  const document = shape(`${name}.Document`, { description, allOf: [DOCUMENT_SHAPE, { type: 'object', properties }] });
  return { many: name, one: `one of ${name}`, document };
}
