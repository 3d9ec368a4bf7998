/** The one message that tells a client all changes of a database transaction, of however many subscriptions. */

import { socketFrame, streamChunk } from '../wire/frames.ts';
import type { Outlet } from '../wire/send-queue.ts';
import type { Told } from '../wire/shared-message.ts';
import { type Member, tell } from './group.ts';

export class Bundles {
  readonly #event: string;
  readonly #parts = new Map<Outlet, { readonly member: Member; readonly told: readonly Told[] }[]>();

  /** @param event position of the transaction's last row */
  constructor(event: string) {
    this.#event = event;
  }

  add(member: Member, told: readonly Told[]): void {
    if (told.length === 0) return;
    const parts = this.#parts.get(member.outlet);
    if (parts === undefined) this.#parts.set(member.outlet, [{ member, told }]);
    else parts.push({ member, told });
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
      const message = same.get(first.told) ?? this.#message(parts);
      same.set(first.told, message);
      outlet.push(message);
    }
  }

  #message(parts: readonly { readonly member: Member; readonly told: readonly Told[] }[]): Buffer {
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
export function tellAlone(member: Member, told: readonly Told[], transaction: string | null): void {
  if (told.length === 0) return;
  if (transaction === null) {
    tell(member, told);
    return;
  }
  const bundle = new Bundles(transaction);
  bundle.add(member, told);
  bundle.push();
}
