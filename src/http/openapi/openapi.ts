/**
 * The contract of this server as OpenAPI 3.1, made of the schemas and tables that the program itself uses. Pure. Not
 * here: where the collections come from (contract.ts) and how it is read by people (docs-page.ts).
 */

import { share } from './components.ts';
import { batchPaths, collectionPaths, type Paths } from './documents.ts';
import { identityPaths } from './identity.ts';
import type { SeenMember } from './member-types.ts';
import type { Operation } from './operation.ts';
import { adminPaths, eventPaths, filePaths } from './places.ts';
import { policyPaths } from './policies.ts';
import { HEADERS, ref, SHAPES } from './shapes.ts';

/** A collection that exists, as its newest documents show it. */
export interface SeenCollection {
  readonly name: string;
  /** Documents looked at. */
  readonly sampled: number;
  readonly members: ReadonlyMap<string, SeenMember>;
}

export interface OpenApi {
  readonly openapi: '3.1.0';
  readonly info: { readonly title: string; readonly version: string; readonly description: string };
  readonly servers: readonly { readonly url: string }[];
  readonly security: readonly object[];
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, object>>;
    readonly parameters: Readonly<Record<string, object>>;
    readonly responses: Readonly<Record<string, object>>;
    readonly headers: Readonly<Record<string, object>>;
    readonly securitySchemes: Readonly<Record<string, object>>;
  };
}

const TAGS = [
  { name: 'Documents', description: 'Any collection; the first document brings it into being.' },
  { name: 'Files', description: 'Bytes with a document that describes them.' },
  { name: 'Events', description: 'Every change, in order, from any position that is kept.' },
  { name: 'Sign-in', description: 'Accounts, sessions and tokens.' },
  { name: 'Running it', description: 'For whoever runs this server.' },
];

export function toOpenApi(collections: readonly SeenCollection[], version: string): OpenApi {
  const schemas: Record<string, object> = { ...SHAPES };
  const paths: Paths = {};
  for (const collection of collections) {
    const shape = `${collection.name}.Document`;
    schemas[shape] = describe(collection);
    Object.assign(paths, collectionPaths({ name: collection.name, shape }));
  }
  Object.assign(
    paths,
    collectionPaths({ shape: 'Document' }),
    batchPaths(),
    filePaths(),
    eventPaths(),
    identityPaths(),
    adminPaths(),
    policyPaths(),
  );
  const shared = share(paths);
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
    servers: [{ url: '/' }],
    security: [{}, { bearer: [] }],
    tags: [
      ...TAGS,
      ...collections.map(({ name, sampled }) => ({
        name,
        description: `The collection ${name}; its members are those of its ${sampled} newest documents.`,
      })),
    ],
    paths: shared.paths,
    components: {
      schemas,
      parameters: shared.parameters,
      responses: shared.responses,
      headers: HEADERS,
      securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } },
    },
  };
}

/** The types stand in an extension: as a schema they would promise what nobody declared. */
function describe({ name, sampled, members }: SeenCollection): object {
  const properties: Record<string, object> = {};
  for (const [member, { types, seen }] of members) {
    if (member === 'id' || member === '_meta') continue;
    properties[member] = {
      description: `${types.join(' or ')}, in ${seen} of ${sampled}`,
      'x-millrace-types': types,
    };
  }
  return { description: `A document of ${name}.`, allOf: [ref('Document')], properties };
}
