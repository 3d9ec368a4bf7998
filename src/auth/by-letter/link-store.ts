/**
 * Where links and codes that sign in are kept, hashed: `<db>_log.links`, one document per address, so that a newer one takes
 * the place of the older. Only link-sign-in.ts calls this file.
 */
import type { Collection } from 'mongodb';
import { duplicateKey, translated } from '../../database/errors.ts';
import type { Mongo } from '../../database/mongo.ts';

export interface LinkRow {
  /** Hash of the address. */
  readonly _id: string;
  /** Id of the account. */
  readonly user: string;
  /** The address as the account had it. */
  readonly email: string;
  /** Hashes of the secret in the link, and of the code. */
  readonly token: string;
  readonly code: string;
  /** How often a code was tried. */
  readonly codeTries: number;
  /** Hash of the secret of the browser that asked; null where it has a verifier instead. */
  readonly browser: string | null;
  /** SHA-256 of the verifier of the app that asked (RFC 7636); null where it has a cookie. */
  readonly challenge: string | null;
  /** When the letter was asked for. */
  readonly askedAt: Date;
  readonly expiresAt: Date;
}

export class LinkStore {
  readonly #rows: Collection<LinkRow>;

  constructor({ log }: Pick<Mongo, 'log'>) {
    this.#rows = log.collection<LinkRow>('links');
  }

  async start(): Promise<void> {
    await translated(() =>
      this.#rows.createIndexes([{ key: { token: 1 } }, { key: { expiresAt: 1 }, expireAfterSeconds: 0 }]),
    );
  }

  /** Puts a link in the place of the one before; false when that was asked for later. */
  async replace({ _id, ...row }: LinkRow): Promise<boolean> {
    return translated(async () => {
      try {
        await this.#rows.updateOne({ _id, askedAt: { $lte: row.askedAt } }, { $set: row }, { upsert: true });
        return true;
      } catch (error) {
        if (duplicateKey(error)) return false;
        throw error;
      }
    });
  }

  findByToken(token: string, now: Date): Promise<LinkRow | null> {
    return translated(() => this.#rows.findOne({ token, expiresAt: { $gt: now } }));
  }

  /** Counts a try of a code; null when there is none to try, or it was tried too often. */
  tryCode(_id: string, tries: number, now: Date): Promise<LinkRow | null> {
    return translated(() =>
      this.#rows.findOneAndUpdate(
        { _id, expiresAt: { $gt: now }, codeTries: { $lt: tries } },
        { $inc: { codeTries: 1 } },
        { returnDocument: 'after' },
      ),
    );
  }

  /** Uses a link up, and its code with it; false when it was used, or replaced. */
  async take({ _id, token }: Pick<LinkRow, '_id' | 'token'>): Promise<boolean> {
    return (await translated(() => this.#rows.deleteOne({ _id, token }))).deletedCount === 1;
  }
}
