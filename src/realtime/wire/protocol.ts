/** Types of the protocol `millrace.v1`, and the parser for client messages. docs/protocol.md describes the messages. */
import {
  IMPERSONATION_TARGET_SYNTAX,
  type ImpersonationTarget,
  parseImpersonationTarget,
} from '../../auth/identity/parse-impersonation-target.ts';
import { parseStrictJson } from '../../database/json/json.ts';
import { requireEventTypes } from '../../events/read/type-patterns.ts';
import { MillraceError } from '../../lib/errors.ts';
import { parseJsonExactNames } from '../../lib/exact-json.ts';
import { isPlainObject } from '../../lib/plain-object.ts';

export const SUBPROTOCOL = 'millrace.v1';

/** After a code below 4500 a client must not reconnect unchanged; from 4500 on it may. */
export const CLOSE_CODES = {
  badFrame: 4400,
  notAuthenticated: 4401,
  origin: 4403,
  unknownVersion: 4406,
  noHello: 4408,
  frameTooBig: 4413,
  serverError: 4500,
  restarting: 4501,
  credentialEnded: 4502,
  overloaded: 4503,
  tooSlow: 4508,
  heartbeatLost: 4510,
  rate: 4529,
} as const;

export type CloseCode = (typeof CLOSE_CODES)[keyof typeof CLOSE_CODES];

/** The position that a reset gives to a stream: its client reconnects with it, and restarts. */
export const RESTART_POSITION = '0-0';

/** Why the result that a client has of a subscription is invalid. */
export type ResetReason =
  | 'position-expired'
  | 'position-unknown'
  | 'epoch-changed'
  | 'gap'
  | 'window'
  | 'too-far-behind'
  | 'lagging'
  | 'policy-changed'
  | 'dropped';

/** A request for a subscription to the documents of a collection. */
export interface CollectionSubscriptionRequest {
  readonly kind: 'documents';
  readonly id: string;
  readonly collection: string;
  /** The input of `parseQueryJson`. */
  readonly query: unknown;
  readonly since: string | null;
  /** The principal that an administrator impersonates; null for none. */
  readonly as: ImpersonationTarget | null;
}

/** A request for a subscription to events. */
export interface EventSubscriptionRequest {
  readonly kind: 'events';
  readonly id: string;
  /** Event types; `*` is a wildcard. */
  readonly types: readonly string[];
  /** The input of `parseFilterJson`. */
  readonly filter: unknown;
  readonly since: string | null;
  /** The principal that an administrator impersonates; null for none. */
  readonly as: ImpersonationTarget | null;
}

export type SubscriptionRequest = CollectionSubscriptionRequest | EventSubscriptionRequest;

export type ClientMessage =
  | { readonly type: 'hello'; readonly token: string | null }
  | { readonly type: 'authenticate'; readonly token: string }
  | { readonly type: 'subscribe'; readonly request: SubscriptionRequest }
  | { readonly type: 'unsubscribe'; readonly id: string }
  | { readonly type: 'pong' };

/** A frame that is not a message: it ends the connection. */
export class BadFrame extends Error {
  override readonly name = 'BadFrame';
}

/** A message that cannot be executed. The response is an error with the id of the message. */
export class BadMessage extends Error {
  override readonly name = 'BadMessage';
  readonly id: string | null;
  /** Whether it requested a subscription. */
  readonly subscribes: boolean;
  readonly issue: MillraceError;

  constructor(issue: MillraceError, id: string | null, subscribes = false) {
    super(issue.message);
    this.issue = issue;
    this.id = id;
    this.subscribes = subscribes;
  }
}

const MAX_ID = 64;
const MAX_TOKEN = 16_384;
const MAX_TYPES = 50;
const MAX_TYPE = 200;
const MAX_COLLECTION = 100;

/**
 * Reads one text frame.
 * @throws BadFrame if it is not a JSON object with a `type`, BadMessage if that message cannot be executed
 */
export function parseClientMessage(bytes: Buffer): ClientMessage {
  const message = parseObject(bytes);
  const { type } = message;
  if (typeof type !== 'string') throw new BadFrame('The frame has no type');
  const named = nameOf(message);
  switch (type) {
    case 'pong':
      return { type };
    case 'hello':
      return { type, token: message['token'] === undefined ? null : token(message, named) };
    case 'authenticate':
      return { type, token: token(message, named) };
    case 'subscribe':
      return { type, request: readWish(message, readId(named)) };
    case 'unsubscribe':
      return { type, id: readId(named) };
    default: {
      const text = `There is no message of type '${type.slice(0, 40)}'`;
      throw new BadMessage(new MillraceError('unknown-message', text), named);
    }
  }
}

function parseObject(bytes: Buffer): Record<string, unknown> {
  let value: unknown;
  try {
    value = parseStrictJson(bytes);
  } catch (error) {
    if (!(error instanceof MillraceError) || error.code === 'malformed-json')
      throw new BadFrame('The frame is not JSON');
    throw refusal(bytes, error);
  }
  if (!isPlainObject(value)) throw new BadFrame('The frame is not a JSON object');
  return value;
}

/** Rejects a frame with a value that no document can contain, such as 2^53 + 1. Its id is read all the same. */
function refusal(bytes: Buffer, issue: MillraceError): BadFrame | BadMessage {
  let message: unknown;
  try {
    message = parseJsonExactNames(bytes.toString());
  } catch {
    return new BadFrame('The frame is not JSON');
  }
  if (!isPlainObject(message)) return new BadFrame('The frame is not a JSON object');
  return new BadMessage(issue, nameOf(message), message['type'] === 'subscribe');
}

/** The id of a message, if valid. */
function nameOf({ id }: Record<string, unknown>): string | null {
  return typeof id === 'string' && id !== '' && id.length <= MAX_ID && id.isWellFormed() ? id : null;
}

function readId(named: string | null): string {
  if (named !== null) return named;
  throw new BadMessage(invalid(`'id' must be a string of 1 to ${MAX_ID} characters`), null);
}

function token({ token }: Record<string, unknown>, id: string | null): string {
  if (typeof token === 'string' && token !== '' && token.length <= MAX_TOKEN) return token;
  throw new BadMessage(invalid("'token' must be a string"), id);
}

const DOCUMENT_FIELDS = ['type', 'id', 'collection', 'query', 'since', 'as'];
const EVENT_FIELDS = ['type', 'id', 'events', 'filter', 'since', 'as'];

function readWish(message: Record<string, unknown>, id: string): SubscriptionRequest {
  try {
    return message['events'] === undefined ? documentWish(message, id) : eventWish(message, id);
  } catch (error) {
    throw error instanceof MillraceError ? new BadMessage(error, id, true) : error;
  }
}

function documentWish(message: Record<string, unknown>, id: string): CollectionSubscriptionRequest {
  only(message, DOCUMENT_FIELDS);
  const { collection, query } = message;
  if (typeof collection !== 'string' || collection.length > MAX_COLLECTION) {
    throw invalid("A subscription must have a 'collection', or a list of 'events'");
  }
  const read = { since: since(message), as: target(message) };
  return { kind: 'documents', id, collection, query: query === undefined ? {} : query, ...read };
}

function eventWish(message: Record<string, unknown>, id: string): EventSubscriptionRequest {
  only(message, EVENT_FIELDS);
  const { events, filter } = message;
  const fits = (type: unknown): type is string => typeof type === 'string' && type !== '' && type.length <= MAX_TYPE;
  if (!Array.isArray(events) || events.length === 0 || events.length > MAX_TYPES || !events.every(fits)) {
    throw invalid(
      `'events' must be a list of 1 to ${MAX_TYPES} event types, such as "todos.created" or "system.file.*"`,
    );
  }
  requireEventTypes(events);
  const read = { since: since(message), as: target(message) };
  return { kind: 'events', id, types: events, filter: filter === undefined ? {} : filter, ...read };
}

function only(message: Record<string, unknown>, known: readonly string[]): void {
  const other = Object.keys(message).find((name) => !known.includes(name));
  if (other === undefined) return;
  throw new MillraceError('unknown-parameter', `'${other.slice(0, 40)}' is not a field of a subscription`, {
    hint: `Known: ${known.slice(1).join(', ')}`,
  });
}

function since({ since }: Record<string, unknown>): string | null {
  if (since === undefined || since === null) return null;
  if (typeof since === 'string' && since !== '') return since;
  throw invalid("'since' must be a position, or be omitted");
}

function target({ as }: Record<string, unknown>): ImpersonationTarget | null {
  if (as === undefined || as === null) return null;
  const found = typeof as === 'string' ? parseImpersonationTarget(as) : null;
  if (found === null) throw invalid(`'as' must be ${IMPERSONATION_TARGET_SYNTAX}`);
  return found;
}

function invalid(message: string): MillraceError {
  return new MillraceError('invalid-parameter', message);
}
