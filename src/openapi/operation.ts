/**
 * What a route declares about itself for the OpenAPI document (`/openapi.json`), in its `config`, where it is
 * registered. The server does not start with a route that declares nothing. Pure.
 */
import type { ErrorCode } from '../lib/errors.ts';
import type { ResponseHeaderName } from './headers.ts';
import type { Parameter } from './parameters.ts';
import type { NamedSchema } from './schema.ts';

/** The tags of the OpenAPI document. */
export type OpenApiTag = 'documents' | 'files' | 'events' | 'webhooks' | 'functions' | 'auth' | 'admin';

/** A response that is not an error. */
export interface ApiResponse {
  readonly description: string;
  /** Schema of a JSON body, or media types with their schemas; neither for a response without a body. */
  readonly schema?: object;
  readonly content?: Readonly<Record<string, object>>;
  readonly headers?: readonly ResponseHeaderName[];
}

export interface Operation {
  /** Unique, in camelCase, a verb first. Generated clients name their methods after it. */
  readonly id: string;
  readonly tag: OpenApiTag;
  readonly summary: string;
  readonly description?: string;
  /** Must include all path parameters. */
  readonly parameters?: readonly Parameter[];
  /** Schemas of the body by media type; none where a request has no body. */
  readonly body?: Readonly<Record<string, object>>;
  /** Administrators may request it as another principal (`Millrace-As`); everywhere else that header is rejected. */
  readonly as?: true;
  /** A request may have no body. */
  readonly bodyOptional?: true;
  /** By status. */
  readonly responses: Readonly<Record<number, ApiResponse>>;
  /** Errors of this route besides those of any request and those of all routes that use JSON. */
  readonly errors: readonly ErrorCode[];
}

/** The collection that an operation is described for: an existing one, or any. */
export interface DescribedCollection {
  /** Its documents in a sentence: `movies`, or `documents` for any collection. */
  readonly many: string;
  /** One of its documents in a sentence: `one of movies`, or `a document`. */
  readonly one: string;
  /** The schema of its documents. */
  readonly document: NamedSchema;
}

interface Single {
  readonly kind: 'operation';
  readonly operation: Operation;
}

/** Described for any collection, and for each that exists: its id contains `Document`. */
interface OfCollection {
  readonly kind: 'of-collection';
  readonly operation: (subject: DescribedCollection) => Operation;
}

interface Outside {
  readonly kind: 'outside';
  readonly why: string;
}

/** What a route declares about itself. */
export type OpenApiRouteDeclaration = Single | OfCollection | Outside;

/** The same for a route in the OpenAPI document. */
export type DeclaredOperation = Single | OfCollection;

/** The part of a route's `config` that this module adds. */
export interface OpenApiRouteConfig<One extends OpenApiRouteDeclaration = OpenApiRouteDeclaration> {
  readonly openApi: One;
}

/** Declares the operation of a route: `app.get(url, { config: operation({ … }) }, …)`. */
export function declareOperation(one: Operation): OpenApiRouteConfig<Single> {
  return { openApi: { kind: 'operation', operation: one } };
}

/** Declares an operation on the documents of the collection that the URL names as `:collection`. */
export function declareCollectionOperation(
  describe: (subject: DescribedCollection) => Operation,
): OpenApiRouteConfig<OfCollection> {
  return { openApi: { kind: 'of-collection', operation: describe } };
}

/**
 * Declares that a route is not in the OpenAPI document: a page for people, or something that OpenAPI cannot describe.
 */
export function excludeFromOpenApi(why: string): OpenApiRouteConfig<Outside> {
  return { openApi: { kind: 'outside', why } };
}

/** One response with a JSON body. */
export function jsonResponse(
  description: string,
  schema: object,
  status = 200,
  headers: readonly ResponseHeaderName[] = [],
): Readonly<Record<number, ApiResponse>> {
  return { [status]: { description, schema, headers } };
}

/** The response without a body. */
export const NO_CONTENT_RESPONSE: Readonly<Record<number, ApiResponse>> = { 204: { description: 'Done.' } };

/** A body that is JSON. */
export function jsonBody(schema: object): Readonly<Record<string, object>> {
  return { 'application/json': schema };
}

/**
 * Errors of the JSON body parser. The OpenAPI document adds them to each route that changes something and uses JSON: a
 * route without a body responds with these too, if a body is sent.
 */
export const JSON_BODY_ERRORS: readonly ErrorCode[] = [
  'malformed-json',
  'body-required',
  'invalid-body-type',
  'unsupported-field-name',
  'unsupported-value',
  'json-too-deep',
  'request-timeout',
  'body-too-large',
  'document-too-large',
  'unsupported-media-type',
];

/** Errors of a change with preconditions. */
export const PRECONDITION_ERRORS: readonly ErrorCode[] = ['malformed-request', 'precondition-failed', 'write-conflict'];

/** Errors of every route that knows all its query parameters. */
export const QUERY_PARAMETER_ERRORS: readonly ErrorCode[] = ['unknown-parameter'];

/** Errors of every route that checks its body against a schema (`lib/parse-body`). */
export const VALIDATION_ERRORS: readonly ErrorCode[] = [...QUERY_PARAMETER_ERRORS, 'invalid-body'];
