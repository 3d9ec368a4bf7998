/**
 * Networks from which users signed in recently: `<db>_log.known_networks`, one document per user. Only notifications.ts
 * calls this file.
 */
import type { Collection } from 'mongodb';
import { withTranslatedErrors } from '../database/errors.ts';
import type { Mongo } from '../database/mongo.ts';

/** How long a network is stored after the last sign-in from it. */
const RETENTION_MS = 90 * 24 * 3_600_000;
/** Maximum networks of one user; the ones used longest ago are dropped first. */
const MAX_NETWORKS = 50;

interface KnownRow {
  /** Id of the user. */
  readonly _id: string;
  readonly networks: readonly { readonly network: string; readonly at: Date }[];
  /** The last sign-in. */
  readonly at: Date;
}

export class KnownNetworks {
  readonly #rows: Collection<KnownRow>;

  constructor({ log }: Pick<Mongo, 'log'>) {
    this.#rows = log.collection<KnownRow>('known_networks');
  }

  async start(): Promise<void> {
    await withTranslatedErrors(() => this.#rows.createIndex({ at: 1 }, { expireAfterSeconds: RETENTION_MS / 1_000 }));
  }

  /** Whether a network is known for the user; null when the user has no known network, as at its first sign-in. */
  async knows(user: string, network: string, now: Date): Promise<boolean | null> {
    const row = await withTranslatedErrors(() => this.#rows.findOne({ _id: user }));
    if (row === null) return null;
    const since = now.getTime() - RETENTION_MS;
    return row.networks.some((one) => one.network === network && one.at.getTime() > since);
  }

  /** Records a sign-in. */
  async note(user: string, network: string, now: Date): Promise<void> {
    await withTranslatedErrors(async () => {
      await this.#rows.updateOne({ _id: user }, { $pull: { networks: { network } } });
      await this.#rows.updateOne(
        { _id: user },
        { $set: { at: now }, $push: { networks: { $each: [{ network, at: now }], $slice: -MAX_NETWORKS } } },
        { upsert: true },
      );
    });
  }
}
