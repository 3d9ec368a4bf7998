/** Where password hashes are kept: `<db>_log`, whose changes are no events. Only this folder calls this file. */
import type { Collection } from 'mongodb';
import { translated } from '../../database/errors.ts';
import type { Mongo } from '../../database/mongo.ts';

interface PasswordRow {
  /** Id of the account. */
  _id: string;
  /** PHC string. */
  hash: string;
  changedAt: Date;
}

export class PasswordStore {
  readonly #rows: Collection<PasswordRow>;

  constructor({ log }: Pick<Mongo, 'log'>) {
    this.#rows = log.collection<PasswordRow>('passwords');
  }

  async find(user: string): Promise<string | null> {
    return (await translated(() => this.#rows.findOne({ _id: user })))?.hash ?? null;
  }

  async set(user: string, hash: string, changedAt: Date): Promise<void> {
    await translated(() => this.#rows.updateOne({ _id: user }, { $set: { hash, changedAt } }, { upsert: true }));
  }

  async remove(user: string): Promise<void> {
    await translated(() => this.#rows.deleteOne({ _id: user }));
  }
}
