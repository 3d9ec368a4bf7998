/**
 * Collects what one database transaction means for each client and sends it as one message to each, whatever number of
 * subscriptions is concerned. Messages that are equal are encoded once.
 */
import { socketFrame, streamChunk } from '../wire/frames.ts';
import type { SendQueue } from '../wire/send-queue.ts';
import type { Told } from '../wire/shared-message.ts';
import { type GroupMember, tell } from './group.ts';

function bytesOf(told: readonly Told[]): number {
  return told.reduce((sum, one) => sum + one.bytes, 0);
}

interface Part {
  readonly member: GroupMember;
  readonly told: readonly Told[];
}

export class TransactionFrames {
  readonly #event: string;
  readonly #parts = new Map<SendQueue, Part[]>();
  /** Bytes of the parts, by send queue. */
  readonly #bytes = new Map<SendQueue, number>();

  /** @param event position of the transaction's last row */
  constructor(event: string) {
    this.#event = event;
  }

  /**
   * Adds messages of one subscription. False when they are too many: more than a client takes at once is added only for
   * the first of its subscriptions.
   */
  add(member: GroupMember, told: readonly Told[]): boolean {
    if (told.length === 0) return true;
    const { queue } = member;
    const parts = this.#parts.get(queue);
    const bytes = (this.#bytes.get(queue) ?? 0) + bytesOf(told);
    if (parts?.some((part) => part.member !== member) && !queue.takes(bytes)) return false;
    this.#bytes.set(queue, bytes);
    if (parts === undefined) this.#parts.set(queue, [{ member, told }]);
    else parts.push({ member, told });
    return true;
  }

  /** Removes what has been added for a member. */
  drop(member: GroupMember): void {
    const parts = this.#parts.get(member.queue);
    if (parts === undefined) return;
    const others = parts.filter((part) => part.member !== member);
    this.#parts.set(member.queue, others);
    this.#bytes.set(member.queue, bytesOf(others.flatMap(({ told }) => told)));
  }

  /** Pushes one message to each client. */
  push(): void {
    const made = new Map<string, Map<readonly Told[], Buffer>>();
    for (const [queue, parts] of this.#parts) {
      const [first] = parts;
      if (first === undefined) continue;
      if (parts.length > 1) {
        queue.push(this.#message(parts));
        continue;
      }
      const name = String(first.member.id);
      const same = made.get(name) ?? new Map<readonly Told[], Buffer>();
      made.set(name, same);
      const known = same.get(first.told);
      const message = known ?? this.#message(parts);
      same.set(first.told, message);
      queue.push(message, known === undefined ? message.length : 0);
    }
  }

  #message(parts: readonly Part[]): Buffer {
    const changes = parts.flatMap(({ member, told }) => told.map((one) => one.part(member.id)));
    const json = joined(changes);
    if (parts[0]?.member.id === null) {
      return streamChunk(
        'transaction',
        [Buffer.from(`{"event":"${this.#event}","changes":[`), json, Buffer.from(']}')],
        this.#event,
      );
    }
    const head = Buffer.from(`{"type":"transaction","event":"${this.#event}","changes":[`);
    return socketFrame([head, json, Buffer.from(']}')]);
  }
}

function joined(parts: readonly Buffer[]): Buffer {
  const comma = Buffer.from(',');
  return Buffer.concat(parts.flatMap((part, index) => (index === 0 ? [part] : [comma, part])));
}

/** Sends messages to one member, as one transaction when they belong to one. */
export function tellAlone(member: GroupMember, told: readonly Told[], transaction: string | null): void {
  if (told.length === 0) return;
  if (transaction === null) {
    tell(member, told);
    return;
  }
  const frames = new TransactionFrames(transaction);
  frames.add(member, told);
  frames.push();
}
