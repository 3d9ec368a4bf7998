/** The one message that tells a client all changes of a database transaction, of however many subscriptions. */

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
  /** Bytes of them, by outlet. */
  readonly #bytes = new Map<SendQueue, number>();

  /** @param event position of the transaction's last row */
  constructor(event: string) {
    this.#event = event;
  }

  /** Whether it has been added: of what is more than a client takes at once, only one subscription is told. */
  add(member: GroupMember, told: readonly Told[]): boolean {
    if (told.length === 0) return true;
    const { outlet } = member;
    const parts = this.#parts.get(outlet);
    const bytes = (this.#bytes.get(outlet) ?? 0) + bytesOf(told);
    if (parts?.some((part) => part.member !== member) && !outlet.takes(bytes)) return false;
    this.#bytes.set(outlet, bytes);
    if (parts === undefined) this.#parts.set(outlet, [{ member, told }]);
    else parts.push({ member, told });
    return true;
  }

  /** Takes back what has been added for a member. */
  drop(member: GroupMember): void {
    const parts = this.#parts.get(member.outlet);
    if (parts === undefined) return;
    const others = parts.filter((part) => part.member !== member);
    this.#parts.set(member.outlet, others);
    this.#bytes.set(member.outlet, bytesOf(others.flatMap(({ told }) => told)));
  }

  /** Pushes one message to each client. Equal ones are made once. */
  push(): void {
    const made = new Map<string, Map<readonly Told[], Buffer>>();
    for (const [outlet, parts] of this.#parts) {
      const [first] = parts;
      if (first === undefined) continue;
      if (parts.length > 1) {
        outlet.push(this.#message(parts));
        continue;
      }
      const name = String(first.member.id);
      const same = made.get(name) ?? new Map<readonly Told[], Buffer>();
      made.set(name, same);
      const known = same.get(first.told);
      const message = known ?? this.#message(parts);
      same.set(first.told, message);
      outlet.push(message, known === undefined ? message.length : 0);
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

/** Tells one member alone: by itself, or as a transaction. */
export function tellAlone(member: GroupMember, told: readonly Told[], transaction: string | null): void {
  if (told.length === 0) return;
  if (transaction === null) {
    tell(member, told);
    return;
  }
  const bundle = new TransactionFrames(transaction);
  bundle.add(member, told);
  bundle.push();
}
