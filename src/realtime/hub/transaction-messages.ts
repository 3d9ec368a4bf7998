/**
 * Collects the messages of one database transaction and sends each client one combined message, however many of its
 * subscriptions are affected. Equal messages are encoded once.
 */
import { encodeSseEvent, encodeTextFrame } from '../wire/encode-frames.ts';
import type { SendQueue } from '../wire/send-queue.ts';
import type { SubscriptionMessage } from '../wire/shared-message.ts';
import { queueMessages, type SubscriptionGroupMember } from './subscription-group.ts';

function bytesOf(reported: readonly SubscriptionMessage[]): number {
  return reported.reduce((sum, one) => sum + one.bytes, 0);
}

interface Part {
  readonly member: SubscriptionGroupMember;
  readonly reported: readonly SubscriptionMessage[];
}

export class TransactionMessages {
  readonly #event: string;
  readonly #parts = new Map<SendQueue, Part[]>();
  /** Bytes of the parts, by send queue. */
  readonly #bytes = new Map<SendQueue, number>();

  /** @param event position of the transaction's last row */
  constructor(event: string) {
    this.#event = event;
  }

  /**
   * Adds messages of one subscription. False if they are too many: more than the per-turn limit of a client is added
   * only for the first of its subscriptions.
   */
  add(member: SubscriptionGroupMember, reported: readonly SubscriptionMessage[]): boolean {
    if (reported.length === 0) return true;
    const { queue } = member;
    const parts = this.#parts.get(queue);
    const bytes = (this.#bytes.get(queue) ?? 0) + bytesOf(reported);
    if (parts?.some((part) => part.member !== member) && !queue.takes(bytes)) return false;
    this.#bytes.set(queue, bytes);
    if (parts === undefined) this.#parts.set(queue, [{ member, reported }]);
    else parts.push({ member, reported });
    return true;
  }

  /** Removes what has been added for a subscription. */
  drop(member: SubscriptionGroupMember): void {
    const parts = this.#parts.get(member.queue);
    if (parts === undefined) return;
    const others = parts.filter((part) => part.member !== member);
    this.#parts.set(member.queue, others);
    this.#bytes.set(member.queue, bytesOf(others.flatMap(({ reported }) => reported)));
  }

  /** Pushes one message to each client. */
  push(): void {
    const created = new Map<string, Map<readonly SubscriptionMessage[], Buffer>>();
    for (const [queue, parts] of this.#parts) {
      const [first] = parts;
      if (first === undefined) continue;
      if (parts.length > 1) {
        queue.push(this.#message(parts));
        continue;
      }
      const name = String(first.member.id);
      const same = created.get(name) ?? new Map<readonly SubscriptionMessage[], Buffer>();
      created.set(name, same);
      const known = same.get(first.reported);
      const message = known ?? this.#message(parts);
      same.set(first.reported, message);
      queue.push(message, known === undefined ? message.length : 0);
    }
  }

  #message(parts: readonly Part[]): Buffer {
    const changes = parts.flatMap(({ member, reported }) => reported.map((one) => one.part(member.id)));
    const json = joined(changes);
    if (parts[0]?.member.id === null) {
      return encodeSseEvent(
        'transaction',
        [Buffer.from(`{"event":"${this.#event}","changes":[`), json, Buffer.from(']}')],
        this.#event,
      );
    }
    const head = Buffer.from(`{"type":"transaction","event":"${this.#event}","changes":[`);
    return encodeTextFrame([head, json, Buffer.from(']}')]);
  }
}

function joined(parts: readonly Buffer[]): Buffer {
  const comma = Buffer.from(',');
  return Buffer.concat(parts.flatMap((part, index) => (index === 0 ? [part] : [comma, part])));
}

/** Sends messages to one subscription, as one transaction if they belong to one. */
export function queueAsTransaction(
  member: SubscriptionGroupMember,
  reported: readonly SubscriptionMessage[],
  transaction: string | null,
): void {
  if (reported.length === 0) return;
  if (transaction === null) {
    queueMessages(member, reported);
    return;
  }
  const frames = new TransactionMessages(transaction);
  frames.add(member, reported);
  frames.push();
}
