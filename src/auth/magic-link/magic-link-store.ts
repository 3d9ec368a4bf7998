/**
 * Where links and codes that sign in are kept, hashed: `<db>_log.magic_links`, one document per address, so that a newer one takes
 * the place of the older. Only magic-link.ts calls this file.
 */
import type { Collection } from 'mongodb';
import { duplicateKey, withTranslatedErrors } from '../../database/errors.ts';
import type { Mongo } from '../../database/mongo.ts';

export interface MagicLinkRow {
  /** Hash of the e-mail address. */
  readonly _id: string;
  /** Id of the user. */
  readonly user: string;
  /** The e-mail address in the user's spelling. */
  readonly email: string;
  /** Hashes of the secret in the link, and of the code. */
  readonly token: string;
  readonly code: string;
  /** Attempts with a code. */
  readonly codeAttempts: number;
  /** Hash of the secret of the requesting browser; null where it has a verifier instead. */
  readonly browser: string | null;
  /** SHA-256 of the verifier of the requesting app (RFC 7636); null where it has a cookie. */
  readonly challenge: string | null;
  /** When the e-mail was requested. */
  readonly requestedAt: Date;
  readonly expiresAt: Date;
}

export class MagicLinkStore {
  readonly #rows: Collection<MagicLinkRow>;

  constructor({ log }: Pick<Mongo, 'log'>) {
    this.#rows = log.collection<MagicLinkRow>('magic_links');
  }

  async start(): Promise<void> {
    await withTranslatedErrors(() =>
      this.#rows.createIndexes([{ key: { token: 1 } }, { key: { expiresAt: 1 }, expireAfterSeconds: 0 }]),
    );
  }

  /** Replaces the previous link; false when that was requested later. */
  async replace({ _id, ...row }: MagicLinkRow): Promise<boolean> {
    return withTranslatedErrors(async () => {
      try {
        await this.#rows.updateOne({ _id, requestedAt: { $lte: row.requestedAt } }, { $set: row }, { upsert: true });
        return true;
      } catch (error) {
        if (duplicateKey(error)) return false;
        throw error;
      }
    });
  }

  findByToken(token: string, now: Date): Promise<MagicLinkRow | null> {
    return withTranslatedErrors(() => this.#rows.findOne({ token, expiresAt: { $gt: now } }));
  }

  /** Counts an attempt with a code; null when there is none, or too many attempts. */
  tryCode(_id: string, attempts: number, now: Date): Promise<MagicLinkRow | null> {
    return withTranslatedErrors(() =>
      this.#rows.findOneAndUpdate(
        { _id, expiresAt: { $gt: now }, codeAttempts: { $lt: attempts } },
        { $inc: { codeAttempts: 1 } },
        { returnDocument: 'after' },
      ),
    );
  }

  /** Uses a link up, and its code with it; false when it was used, or replaced. */
  async take({ _id, token }: Pick<MagicLinkRow, '_id' | 'token'>): Promise<boolean> {
    return (await withTranslatedErrors(() => this.#rows.deleteOne({ _id, token }))).deletedCount === 1;
  }
}
