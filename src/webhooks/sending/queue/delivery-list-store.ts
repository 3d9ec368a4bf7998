/** Reads deliveries for responses: pages, one with its body, its attempts. */
import type { Collection, Document, ObjectId } from 'mongodb';
import { NEWEST_FIRST, olderThanCursor, pageWithCursor } from '../../../database/cursors/newest-first.ts';
import { withTranslatedErrors } from '../../../database/errors.ts';
import type { Mongo } from '../../../database/mongo.ts';
import { escapeRegExp } from '../../../lib/escape-reg-exp.ts';
import type { Attempt, Delivery, DeliveryPage, DeliveryQuery } from '../sender.ts';
import { type DeliveryRow, toAttempt, toDelivery } from './delivery-row.ts';

/** A list by a rare type may examine many rows. */
const LIST_MS = 10_000;
/** Of the attempts neither requests nor responses. */
const WITHOUT_LARGE = { body: 0, 'attempts.request': 0, 'attempts.response': 0 } as const;
const WITHOUT_RESPONSES = { 'attempts.request': 0, 'attempts.response': 0 } as const;

export class DeliveryListStore {
  readonly #rows: Collection<DeliveryRow>;
  readonly #bodies: Collection<{ _id: ObjectId; body: string }>;

  constructor(mongo: Pick<Mongo, 'log'>) {
    this.#rows = mongo.log.collection<DeliveryRow>('webhook_deliveries');
    this.#bodies = mongo.log.collection<{ _id: ObjectId; body: string }>('webhook_bodies');
  }

  /** @throws MillraceError `cursor-mismatch`, `query-timeout` */
  async page(query: DeliveryQuery): Promise<DeliveryPage> {
    const rows = await withTranslatedErrors(() =>
      this.#rows
        .find(filterOf(query), {
          projection: WITHOUT_LARGE,
          sort: NEWEST_FIRST,
          limit: query.limit + 1,
          maxTimeMS: LIST_MS,
        })
        .toArray(),
    );
    const [shown, next] = pageWithCursor(rows, query.limit);
    return { deliveries: shown.map(toDelivery), next };
  }

  async one(id: string): Promise<{ readonly delivery: Delivery; readonly body: string | null } | null> {
    const row = await withTranslatedErrors(() => this.#rows.findOne({ _id: id }, { projection: WITHOUT_RESPONSES }));
    if (row === null) return null;
    const { body, bodyRef } = row;
    if (body !== undefined || bodyRef === undefined) return { delivery: toDelivery(row), body: body ?? null };
    const shared = await withTranslatedErrors(() => this.#bodies.findOne({ _id: bodyRef }));
    return { delivery: toDelivery(row), body: shared?.body ?? null };
  }

  async attempts(id: string): Promise<readonly Attempt[]> {
    const row = await withTranslatedErrors(() => this.#rows.findOne({ _id: id }, { projection: { attempts: 1 } }));
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
  if (after !== undefined) parts.push(...olderThanCursor(after));
  return parts.length === 0 ? {} : { $and: parts };
}

function patternOf(type: string): RegExp {
  const parts = type.split('*').map(escapeRegExp);
  return new RegExp(`^${parts.join('.*')}$`);
}
