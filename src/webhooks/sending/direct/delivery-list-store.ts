/**
 * What is shown of deliveries: lists in pages, one with its body, its tries. Not here: what is written (delivery-store.ts).
 */
import type { Collection, Document, ObjectId } from 'mongodb';
import { translated } from '../../../database/errors.ts';
import type { Mongo } from '../../../database/mongo.ts';
import { MillraceError } from '../../../kernel/errors.ts';
import type { Attempt, Delivery, DeliveryPage, DeliveryQuery } from '../sender.ts';
import { type DeliveryRow, toAttempt, toDelivery } from './delivery-row.ts';

/** A list by a type that few deliveries have may look at many. */
const LIST_MS = 10_000;
/** Of the tries neither requests nor answers. */
const WITHOUT_LARGE = { body: 0, 'attempts.request': 0, 'attempts.response': 0 } as const;
const WITHOUT_ANSWERS = { 'attempts.request': 0, 'attempts.response': 0 } as const;

export class DeliveryListStore {
  readonly #rows: Collection<DeliveryRow>;
  readonly #bodies: Collection<{ _id: ObjectId; body: string }>;

  constructor(mongo: Pick<Mongo, 'log'>) {
    this.#rows = mongo.log.collection<DeliveryRow>('webhook_deliveries');
    this.#bodies = mongo.log.collection<{ _id: ObjectId; body: string }>('webhook_bodies');
  }

  /** @throws MillraceError `cursor-mismatch`, `query-timeout` */
  async page(query: DeliveryQuery): Promise<DeliveryPage> {
    const rows = await translated(() =>
      this.#rows
        .find(filterOf(query), {
          projection: WITHOUT_LARGE,
          sort: { createdAt: -1, _id: -1 },
          limit: query.limit + 1,
          maxTimeMS: LIST_MS,
        })
        .toArray(),
    );
    const shown = rows.slice(0, query.limit);
    const last = shown.at(-1);
    const next = rows.length > shown.length && last !== undefined ? cursorOf(last) : null;
    return { deliveries: shown.map(toDelivery), next };
  }

  async one(id: string): Promise<{ readonly delivery: Delivery; readonly body: string | null } | null> {
    const row = await translated(() => this.#rows.findOne({ _id: id }, { projection: WITHOUT_ANSWERS }));
    if (row === null) return null;
    const { body, bodyRef } = row;
    if (body !== undefined || bodyRef === undefined) return { delivery: toDelivery(row), body: body ?? null };
    const shared = await translated(() => this.#bodies.findOne({ _id: bodyRef }));
    return { delivery: toDelivery(row), body: shared?.body ?? null };
  }

  async attempts(id: string): Promise<readonly Attempt[]> {
    const row = await translated(() => this.#rows.findOne({ _id: id }, { projection: { attempts: 1 } }));
    return (row?.attempts ?? []).map(toAttempt);
  }
}

function filterOf({ endpoint, endpoints, state, type, event, after }: DeliveryQuery): Document {
  const parts: Document[] = [];
  if (endpoint !== undefined) parts.push({ endpoint });
  if (endpoints !== undefined) parts.push({ endpoint: { $in: [...endpoints] } });
  if (state !== undefined) parts.push({ state });
  if (event !== undefined) parts.push({ event });
  if (type !== undefined) parts.push({ type: type.includes('*') ? patternOf(type) : type });
  if (after !== undefined) {
    const { createdAt, id } = placeOf(after);
    parts.push({ $or: [{ createdAt: { $lt: createdAt } }, { createdAt, _id: { $lt: id } }] });
    // The same once more, for the bounds of the index.
    parts.push({ createdAt: { $lte: createdAt } });
  }
  return parts.length === 0 ? {} : { $and: parts };
}

function patternOf(type: string): RegExp {
  const parts = type.split('*').map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${parts.join('.*')}$`);
}

function cursorOf({ createdAt, _id }: Pick<DeliveryRow, 'createdAt' | '_id'>): string {
  return Buffer.from(JSON.stringify([createdAt.getTime(), _id])).toString('base64url');
}

function placeOf(cursor: string): { readonly createdAt: Date; readonly id: string } {
  try {
    const place: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString());
    if (Array.isArray(place) && Number.isSafeInteger(place[0]) && typeof place[1] === 'string') {
      return { createdAt: new Date(place[0]), id: place[1] };
    }
  } catch {
    // It is no JSON; refused below.
  }
  throw new MillraceError('cursor-mismatch', 'The cursor is not one of this list');
}
