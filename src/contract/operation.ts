/**
 * What a route declares about itself for the contract (`/openapi.json`), in its `config`, where it is registered. The
 * server does not start with a route that declares nothing. Pure. Not here: collecting the declarations of all routes
 * and writing them as OpenAPI (http/openapi).
 */
import type { ErrorCode } from '../kernel/errors.ts';
import type { HeaderName } from './headers.ts';
import type { Parameter } from './parameters.ts';
import type { Shape } from './schema.ts';

/** The sections of the contract. */
export type Tag = 'Documents' | 'Files' | 'Events' | 'Webhooks' | 'Functions' | 'Sign-in' | 'Running it';

/** An answer that is no refusal. */
export interface Answer {
  readonly description: string;
  /** Schema of a JSON body, or media types with their schemas; neither for no body. */
  readonly schema?: object;
  readonly content?: Readonly<Record<string, object>>;
  readonly headers?: readonly HeaderName[];
}

export interface Operation {
  /** Unique. Generated clients name their methods after it. */
  readonly id: string;
  readonly tag: Tag;
  readonly summary: string;
  readonly description?: string;
  /** All parameters of the path must be among them. */
  readonly parameters?: readonly Parameter[];
  /** Schemas of the body by media type; none where a request has no body. */
  readonly body?: Readonly<Record<string, object>>;
  /** Owners may ask it as another principal (`Millrace-As`); everywhere else that header is refused. */
  readonly as?: true;
  /** A request may come without its body. */
  readonly bodyOptional?: true;
  /** By status. */
  readonly answers: Readonly<Record<number, Answer>>;
  /** Refusals of this route besides those of any request and those of all routes that speak JSON. */
  readonly errors: readonly ErrorCode[];
}

/** The collection that an operation is described for: one that exists, or any. */
export interface Subject {
  /** Its documents in a sentence: `movies`, or `documents` for any collection. */
  readonly many: string;
  /** One of its documents in a sentence: `one of movies`, or `a document`. */
  readonly one: string;
  /** What its documents look like. */
  readonly document: Shape;
}

interface Single {
  readonly kind: 'operation';
  readonly operation: Operation;
}

/** Described once for any collection, and once more for each that exists. */
interface OfCollection {
  readonly kind: 'of-collection';
  readonly operation: (subject: Subject) => Operation;
}

interface Outside {
  readonly kind: 'outside';
  readonly why: string;
}

/** What a route declares about itself. */
export type Declaration = Single | OfCollection | Outside;

/** The same for a route that belongs to the contract. */
export type DeclaredOperation = Single | OfCollection;

/** The part of a route's `config` that this file makes. */
export interface Declared<One extends Declaration = Declaration> {
  readonly contract: One;
}

/** Declares the operation of a route: `app.get(url, { config: operation({ … }) }, …)`. */
export function operation(one: Operation): Declared<Single> {
  return { contract: { kind: 'operation', operation: one } };
}

/** Declares an operation on the documents of the collection that the URL names as `:collection`. */
export function collectionOperation(describe: (subject: Subject) => Operation): Declared<OfCollection> {
  return { contract: { kind: 'of-collection', operation: describe } };
}

/**
 * Declares that a route does not belong to the contract: a page for people, or something that OpenAPI cannot describe.
 */
export function outsideContract(why: string): Declared<Outside> {
  return { contract: { kind: 'outside', why } };
}

/** One answer with a JSON body. */
export function answer(
  description: string,
  schema: object,
  status = 200,
  headers: readonly HeaderName[] = [],
): Readonly<Record<number, Answer>> {
  return { [status]: { description, schema, headers } };
}

/** The answer without a body. */
export const DONE: Readonly<Record<number, Answer>> = { 204: { description: 'Done.' } };

/** A body that is JSON. */
export function jsonBody(schema: object): Readonly<Record<string, object>> {
  return { 'application/json': schema };
}

/**
 * What the parser of JSON bodies refuses. The contract adds them to each route that changes something and speaks JSON: a
 * route without a body answers with these too, if a body is sent.
 */
export const BODY_ERRORS: readonly ErrorCode[] = [
  'malformed-json',
  'body-required',
  'body-type',
  'unsupported-key',
  'unsupported-value',
  'too-deep',
  'request-timeout',
  'body-too-large',
  'document-too-large',
  'unsupported-media-type',
];

/** Refusals of a change that takes preconditions. */
export const CONDITIONAL_ERRORS: readonly ErrorCode[] = ['malformed-request', 'precondition-failed', 'contention'];

/** Refusals of every route that knows all its query parameters. */
export const ASKED_ERRORS: readonly ErrorCode[] = ['unknown-parameter'];

/** Refusals of every route that checks its body against a schema (`kernel/parse-body`). */
export const CHECKED_ERRORS: readonly ErrorCode[] = [...ASKED_ERRORS, 'invalid-body'];
