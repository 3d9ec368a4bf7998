/** Creates the services for quotas if the settings set one: the check and the counter. */
import type { Mongo } from '../database/mongo.ts';
import { QuotaCounter } from './quota-counter.ts';
import { type QuotaAmounts, QuotaStore } from './quota-store.ts';
import { Quotas } from './quotas.ts';

export interface OpenQuotas {
  readonly quotas: Quotas;
  /** The options of the counter's durable reader of the event log. */
  readonly reading: ReturnType<QuotaCounter['reading']>;
}

/** @param limits 0 for none; the result is undefined if there are none at all */
export function openQuotas(mongo: Mongo, limits: QuotaAmounts): OpenQuotas | undefined {
  if (Object.values(limits).every((limit) => limit <= 0)) return undefined;
  const store = new QuotaStore(mongo);
  return { quotas: new Quotas(store, limits), reading: new QuotaCounter(store).reading() };
}
