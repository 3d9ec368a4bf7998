/**
 * The audit log: sign-ins, failed sign-ins, and what administrators revoked, created and changed. A reader of the event
 * log stores these events for longer than the log does.
 */
import { MillraceError } from '../../lib/errors.ts';
import { parseJsonExactNames } from '../../lib/exact-json.ts';
import type { Scope } from '../../policies/scope.ts';
import { type Event, eventType, toEvent } from '../log/event.ts';
import type { LogRow } from '../log/log-row.ts';
import { requirePosition } from '../log/position.ts';
import type { Consumer, ConsumerOptions } from '../read/consumer.ts';
import { consumerOutputId } from '../read/consumer.ts';
import { requireEventTypes } from '../read/type-patterns.ts';
import type { AuditRow, AuditStore } from './audit-store.ts';

const NAME = 'audit';
/** What users do with files is in the event log. */
const OTHERS = /^system\.file\./;

export interface AuditLogDeps {
  readonly store: AuditStore;
  readonly consumer: (options: Pick<ConsumerOptions, 'name' | 'handle' | 'concerns'>) => Consumer;
}

export class AuditLog {
  readonly #store: AuditStore;
  readonly #consumer: Consumer;

  constructor({ store, consumer }: AuditLogDeps) {
    this.#store = store;
    this.#consumer = consumer({ name: NAME, handle: (rows) => this.#keep(rows), concerns });
  }

  async start(): Promise<void> {
    await this.#store.start();
    this.#consumer.start();
  }

  stop(): Promise<void> {
    return this.#consumer.stop();
  }

  /**
   * Newest first.
   * @param before position of the last one of the previous page
   * @param type an event type, with `*` for any text
   * @throws MillraceError `invalid-parameter`, also for a type that no event has
   */
  async list(
    _scope: Scope<'read', '_admin:accounts'>,
    before: string | null,
    type: string | null,
    limit: number,
  ): Promise<Event[]> {
    const position = before === null ? null : requirePosition(before);
    if (type !== null) requireEventTypes([type]);
    const rows = await this.#store.list(position, type === null ? null : toPattern(type), limit);
    return rows.map(({ event }) => parseJsonExactNames(event) as Event);
  }

  async #keep(rows: readonly LogRow[]): Promise<void> {
    await this.#store.append(rows.flatMap((row) => toAudit(row) ?? []));
  }
}

/** The type of an event that is stored; null for all others. */
function kept(row: LogRow): string | null {
  const type = eventType(row);
  return type?.startsWith('system.') && !OTHERS.test(type) ? type : null;
}

const concerns = (row: LogRow): boolean => kept(row) !== null;

function toAudit(row: LogRow): AuditRow | null {
  const type = kept(row);
  if (type === null) return null;
  const { epoch, number, wall: at } = row;
  return { _id: consumerOutputId(NAME, row), epoch, number, type, at, event: JSON.stringify(toEvent(row)) };
}

/** A pattern goes to the database, which cuts it at a zero byte; no type has a control character. */
function toPattern(type: string): RegExp {
  if (/\p{Cc}/u.test(type)) {
    throw new MillraceError(
      'invalid-parameter',
      "The parameter 'eventType' must be an event type; * stands for any text",
    );
  }
  const parts = type.slice(0, 200).split('*', 10);
  return new RegExp(`^${parts.map((part) => part.replace(/[.+?^${}()|[\]\\]/g, '\\$&')).join('.*')}$`);
}
