/**
 * One message that several subscriptions share, and its bytes. It is encoded once, and framed once for each
 * subscription id. The bytes of a large message are not copied for each id.
 */
import { CHANGE_EVENT, encodeFrameStart, encodeSseEvent, encodeTextFrame } from './encode-frames.ts';

export type LeaveReason = 'deleted' | 'filter' | 'window' | 'gone';

export interface ChangeMessageFields {
  readonly op: 'enter' | 'update' | 'leave';
  readonly documentId: string;
  readonly reason?: LeaveReason;
  /** JSON. */
  readonly document?: Buffer;
  readonly changed?: readonly string[] | null;
  /** JSON. */
  readonly sortKey?: string | null;
  /** ISO 8601. */
  readonly at: string;
}

/** A message to subscriptions: a frame of its own, or a part of the message of a transaction. */
export interface SubscriptionMessage {
  /** A frame for sockets, for a subscription with that id; without its end if there is a `tail`. */
  frame(id: string): Buffer;
  /** The end of a large message, sent after each of its frames and the same for all. Known after the first frame. */
  readonly tail: Buffer | null;
  /** Bytes that have been encoded so far. */
  readonly created: number;
  /** Approximate bytes of the message. */
  readonly bytes: number;
  /** The same as one event of a stream. */
  chunk(): Buffer;
  /** JSON of the message as a part of a transaction; without a name for streams. */
  part(id: string | null): Buffer;
}

const END = Buffer.from('}');
/** From this size on, two writes cost less than a copy for each id. */
const LARGE_BYTES = 16 * 1024;

/** A message. Its first fields are its type and the subscription's id; the others are the same for all clients. */
export class SharedMessage implements SubscriptionMessage {
  readonly #type: string;
  readonly #event: string;
  readonly #make: () => Buffer;
  #created: Buffer | undefined;
  readonly #frames = new Map<string, Buffer>();
  #chunk: Buffer | undefined;
  tail: Buffer | null = null;
  created = 0;

  /**
   * @param type the message's type; a change inside a transaction omits it
   * @param event its position
   * @param rest returns the JSON of its other fields, without braces; called at most once
   */
  constructor(type: string, event: string, rest: () => Buffer) {
    this.#type = type;
    this.#event = event;
    this.#make = rest;
  }

  get #rest(): Buffer {
    if (this.#created === undefined) {
      this.#created = this.#make();
      this.created += this.#created.length;
    }
    return this.#created;
  }

  get bytes(): number {
    return this.#rest.length;
  }

  frame(id: string): Buffer {
    let frame = this.#frames.get(id);
    if (frame === undefined) {
      const head = Buffer.from(`{"type":"${this.#type}","id":${JSON.stringify(id)},`);
      const rest = this.#rest;
      if (rest.length < LARGE_BYTES) frame = encodeTextFrame([head, rest, END]);
      else {
        this.tail ??= this.#tailOf(rest);
        frame = encodeFrameStart(head, this.tail.length);
      }
      this.created += frame.length;
      this.#frames.set(id, frame);
    }
    return frame;
  }

  #tailOf(rest: Buffer): Buffer {
    this.created += rest.length;
    return Buffer.concat([rest, END]);
  }

  chunk(): Buffer {
    if (this.#chunk === undefined) {
      this.#chunk = encodeSseEvent(this.#type, [Buffer.from('{'), this.#rest, END], this.#event);
      this.created += this.#chunk.length;
    }
    return this.#chunk;
  }

  part(id: string | null): Buffer {
    const type = this.#type === CHANGE_EVENT ? '' : `"type":"${this.#type}",`;
    const name = id === null ? '' : `"id":${JSON.stringify(id)},`;
    return Buffer.concat([Buffer.from(`{${type}${name}`), this.#rest, END]);
  }
}

/** A change as a message. @param change returns its parts; called on first use */
export function toChangeMessage(event: string, change: () => ChangeMessageFields): SharedMessage {
  return new SharedMessage(CHANGE_EVENT, event, () => fieldsOf(event, change()));
}

function fieldsOf(event: string, change: ChangeMessageFields): Buffer {
  const { op, documentId, reason, document, changed, sortKey, at } = change;
  const head = `"op":"${op}","documentId":${JSON.stringify(documentId)}`;
  const tail =
    (reason === undefined ? '' : `,"reason":"${reason}"`) +
    (changed ? `,"changed":${JSON.stringify(changed)}` : '') +
    (sortKey ? `,"sortKey":${sortKey}` : '') +
    `,"event":"${event}","at":"${at}"`;
  const parts = [Buffer.from(head), ...(document ? [Buffer.from(',"document":'), document] : []), Buffer.from(tail)];
  return Buffer.concat(parts);
}
