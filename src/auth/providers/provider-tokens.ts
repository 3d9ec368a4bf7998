/**
 * Tokens that providers gave for identities, kept where a provider says `storeTokens`: sealed, in `<db>_log`, as long as the
 * identity belongs to an account. No response contains them.
 */
import type { AnyBulkWriteOperation, Collection } from 'mongodb';
import Type, { type Static } from 'typebox';
import { Check } from 'typebox/schema';
import { withTranslatedErrors } from '../../database/errors.ts';
import type { Mongo } from '../../database/mongo.ts';
import { DecryptionError, type Encryption } from '../../lib/encryption.ts';
import { escapeRegExp } from '../../lib/escape-reg-exp.ts';
import { parseIdentityId } from '../identity/provider-identity.ts';

/** The collection in `<db>_log`. */
export const PROVIDER_TOKENS_COLLECTION = 'provider_tokens';
/** Larger ones are not stored, in characters of JSON. */
const MAX_LENGTH = 65_536;
/** Rows that one write encrypts again. */
const BATCH = 500;

const TOKENS = Type.Object({
  accessToken: Type.String(),
  /** Null where the provider issued none: some do so only for a certain scope. */
  refreshToken: Type.Union([Type.String(), Type.Null()]),
  idToken: Type.Union([Type.String(), Type.Null()]),
  /** When the access token expires, in milliseconds since 1970; null where the provider does not say. */
  expiresAt: Type.Union([Type.Number(), Type.Null()]),
});

/** The tokens of one identity. */
export type ProviderTokenSet = Static<typeof TOKENS>;

export interface ProviderTokensRow {
  /** Id of the identity. */
  _id: string;
  /** Name of its provider. */
  provider: string;
  encrypted: string;
}

export class ProviderTokenVault {
  readonly #rows: Collection<ProviderTokensRow>;
  readonly #encryption: Encryption;

  constructor({ log }: Pick<Mongo, 'log'>, encryption: Encryption) {
    this.#rows = log.collection<ProviderTokensRow>(PROVIDER_TOKENS_COLLECTION);
    this.#encryption = encryption;
  }

  /** Creates the index, and encrypts with the newest master key whatever is stored otherwise. */
  async start(): Promise<void> {
    await withTranslatedErrors(() => this.#rows.createIndex({ provider: 1 }));
    const { prefix } = this.#encryption;
    if (prefix !== null) await withTranslatedErrors(() => this.#reencrypt(prefix));
  }

  /** Tokens in the form in which they are stored; null when they are too large. */
  encrypt(identity: string, tokens: ProviderTokenSet): string | null {
    const text = JSON.stringify(tokens);
    return text.length > MAX_LENGTH ? null : this.#encryption.encrypt(text, contextOf(identity));
  }

  /** @param prefix of current encryption: there may be many rows, and few starts find an older one */
  async #reencrypt(prefix: string): Promise<void> {
    let writes: AnyBulkWriteOperation<ProviderTokensRow>[] = [];
    const write = async () => {
      if (writes.length > 0) await this.#rows.bulkWrite(writes, { ordered: false });
      writes = [];
    };
    for await (const { _id, encrypted } of this.#rows.find({
      encrypted: { $not: new RegExp(`^${escapeRegExp(prefix)}`) },
    })) {
      const text = this.#opened(_id, encrypted);
      if (text === null) continue;
      const again = this.#encryption.encrypt(text, contextOf(_id));
      writes.push({ updateOne: { filter: { _id, encrypted }, update: { $set: { encrypted: again } } } });
      if (writes.length === BATCH) await write();
    }
    await write();
  }

  /** Stores encrypted tokens, replacing the previous ones. */
  async save(identity: string, encrypted: string): Promise<void> {
    const { provider } = parseIdentityId({ id: identity });
    await withTranslatedErrors(() =>
      this.#rows.updateOne({ _id: identity }, { $set: { provider, encrypted } }, { upsert: true }),
    );
  }

  /** @returns null when there are none, or their master key is missing */
  async find(identity: string): Promise<ProviderTokenSet | null> {
    const row = await withTranslatedErrors(() => this.#rows.findOne({ _id: identity }));
    const text = row && this.#opened(identity, row.encrypted);
    if (text === null) return null;
    const tokens: unknown = JSON.parse(text);
    return Check(TOKENS, tokens) ? tokens : null;
  }

  /** Null when the master key is missing. */
  #opened(identity: string, encrypted: string): string | null {
    try {
      return this.#encryption.open(encrypted, contextOf(identity));
    } catch (error) {
      if (error instanceof DecryptionError) return null;
      throw error;
    }
  }

  /** Deletes those of identities that no longer belong to a user. */
  async forget(identities: readonly string[]): Promise<void> {
    if (identities.length > 0)
      await withTranslatedErrors(() => this.#rows.deleteMany({ _id: { $in: [...identities] } }));
  }
}

/** The context of the encryption: tokens decrypt in no other one. */
function contextOf(identity: string): string {
  return `tokens of ${identity}`;
}
