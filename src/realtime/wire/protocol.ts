/**
 * The protocol `millrace.v1` as types, and the parser for messages of clients. Pure. docs/protocol.md says what the
 * messages mean. Not here: how messages of the server become bytes (frames.ts), what they cause (socket-client.ts).
 */
import { parseWhom, WHOM_FORMS, type Whom } from '../../auth/identity/whom.ts';
import { parseJson } from '../../database/json/json.ts';
import { requireTypes } from '../../events/read/wanted-types.ts';
import { MillraceError } from '../../kernel/errors.ts';
import { parseExactJson } from '../../kernel/exact-json.ts';
import { isPlain } from '../../kernel/objects.ts';

export const SUBPROTOCOL = 'millrace.v1';

/** After a code below 4500 a client must not come back unchanged; from 4500 on it may. */
export const CLOSE = {
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

export type CloseCode = (typeof CLOSE)[keyof typeof CLOSE];

/** The position that a reset gives to a stream: its client comes back with it, and begins anew. */
export const NOWHERE = '0-0';

/** Why the answer that a client has of a subscription is void. */
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
export interface DocumentWish {
  readonly kind: 'documents';
  readonly id: string;
  readonly collection: string;
  /** As `parseQueryJson` takes it. */
  readonly query: unknown;
  readonly since: string | null;
  /** As whom an owner subscribes; null as itself. */
  readonly as: Whom | null;
}

/** A request for a subscription to events. */
export interface EventWish {
  readonly kind: 'events';
  readonly id: string;
  /** Event types, `*` for anything. */
  readonly types: readonly string[];
  /** As `parseFilterJson` takes it. */
  readonly filter: unknown;
  readonly since: string | null;
  /** As whom an owner subscribes; null as itself. */
  readonly as: Whom | null;
}

export type Wish = DocumentWish | EventWish;

export type ClientMessage =
  | { readonly type: 'hello'; readonly token: string | null }
  | { readonly type: 'authenticate'; readonly token: string }
  | { readonly type: 'subscribe'; readonly wish: Wish }
  | { readonly type: 'unsubscribe'; readonly id: string }
  | { readonly type: 'pong' };

/** A frame that is not a message: it ends the connection. */
export class BadFrame extends Error {
  override readonly name = 'BadFrame';
}

/** A message that cannot be carried out. It is answered with an error, under the id that it named. */
export class BadMessage extends Error {
  override readonly name = 'BadMessage';
  readonly id: string | null;
  /** Whether it asked for a subscription. */
  readonly subscribes: boolean;
  readonly fault: MillraceError;

  constructor(fault: MillraceError, id: string | null, subscribes = false) {
    super(fault.message);
    this.fault = fault;
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
 * @throws BadFrame when it is not a JSON object with a `type`, BadMessage when that message cannot be carried out
 */
export function parseMessage(bytes: Buffer): ClientMessage {
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
      return { type, wish: readWish(message, readId(named)) };
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
    value = parseJson(bytes);
  } catch (error) {
    if (!(error instanceof MillraceError) || error.code === 'malformed-json')
      throw new BadFrame('The frame is not JSON');
    throw refusal(bytes, error);
  }
  if (!isPlain(value)) throw new BadFrame('The frame is not a JSON object');
  return value;
}

/** The refusal of a frame that holds something that no document can hold, such as 2^53 + 1. Its id is read all the same. */
function refusal(bytes: Buffer, fault: MillraceError): BadFrame | BadMessage {
  let message: unknown;
  try {
    message = parseExactJson(bytes.toString());
  } catch {
    return new BadFrame('The frame is not JSON');
  }
  if (!isPlain(message)) return new BadFrame('The frame is not a JSON object');
  return new BadMessage(fault, nameOf(message), message['type'] === 'subscribe');
}

/** The id that a message names, if it can be one. */
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

const DOCUMENT_MEMBERS = ['type', 'id', 'collection', 'query', 'since', 'as'];
const EVENT_MEMBERS = ['type', 'id', 'events', 'filter', 'since', 'as'];

function readWish(message: Record<string, unknown>, id: string): Wish {
  try {
    return message['events'] === undefined ? documentWish(message, id) : eventWish(message, id);
  } catch (error) {
    throw error instanceof MillraceError ? new BadMessage(error, id, true) : error;
  }
}

function documentWish(message: Record<string, unknown>, id: string): DocumentWish {
  only(message, DOCUMENT_MEMBERS);
  const { collection, query } = message;
  if (typeof collection !== 'string' || collection.length > MAX_COLLECTION) {
    throw invalid("A subscription must name a 'collection', or a list of 'events'");
  }
  const read = { since: since(message), as: whom(message) };
  return { kind: 'documents', id, collection, query: query === undefined ? {} : query, ...read };
}

function eventWish(message: Record<string, unknown>, id: string): EventWish {
  only(message, EVENT_MEMBERS);
  const { events, filter } = message;
  const fits = (type: unknown): type is string => typeof type === 'string' && type !== '' && type.length <= MAX_TYPE;
  if (!Array.isArray(events) || events.length === 0 || events.length > MAX_TYPES || !events.every(fits)) {
    throw invalid(
      `'events' must be a list of 1 to ${MAX_TYPES} event types, such as "todos.created" or "system.file.*"`,
    );
  }
  requireTypes(events);
  const read = { since: since(message), as: whom(message) };
  return { kind: 'events', id, types: events, filter: filter === undefined ? {} : filter, ...read };
}

function only(message: Record<string, unknown>, known: readonly string[]): void {
  const other = Object.keys(message).find((name) => !known.includes(name));
  if (other === undefined) return;
  throw new MillraceError('unknown-parameter', `'${other.slice(0, 40)}' is not known in a subscription`, {
    hint: `Known: ${known.slice(1).join(', ')}`,
  });
}

function since({ since }: Record<string, unknown>): string | null {
  if (since === undefined || since === null) return null;
  if (typeof since === 'string' && since !== '') return since;
  throw invalid("'since' must be a position, or be left out");
}

function whom({ as }: Record<string, unknown>): Whom | null {
  if (as === undefined || as === null) return null;
  const found = typeof as === 'string' ? parseWhom(as) : null;
  if (found === null) throw invalid(`'as' must be ${WHOM_FORMS}`);
  return found;
}

function invalid(message: string): MillraceError {
  return new MillraceError('invalid-parameter', message);
}
