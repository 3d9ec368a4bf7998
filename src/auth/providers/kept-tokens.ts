/**
 * Tokens that providers gave for identities, kept where a provider says `keepTokens`: sealed, in `<db>_log`, as long as the
 * identity belongs to an account. They are shown to nobody. Not here: getting them (flows/), and providers
 * (provider-store.ts).
 */
import type { AnyBulkWriteOperation, Collection } from 'mongodb';
import Type, { type Static } from 'typebox';
import { Check } from 'typebox/schema';
import { translated } from '../../database/errors.ts';
import type { Mongo } from '../../database/mongo.ts';
import { literalPattern } from '../../kernel/literal-pattern.ts';
import { SealBroken, type Sealer } from '../../kernel/sealer.ts';
import { identityParts } from '../identity/provider-identity.ts';

/** The collection in `<db>_log`. */
export const KEPT_TOKENS = 'provider_tokens';
/** Larger ones are not kept, in characters of JSON. */
const MAX_LENGTH = 65_536;
/** Rows that are sealed anew in one write. */
const BATCH = 500;

const TOKENS = Type.Object({
  accessToken: Type.String(),
  /** Null where the provider gave none: some do only when a scope asks for it. */
  refreshToken: Type.Union([Type.String(), Type.Null()]),
  idToken: Type.Union([Type.String(), Type.Null()]),
  /** When the access token ends, in milliseconds since 1970; null where the provider does not say. */
  expiresAt: Type.Union([Type.Number(), Type.Null()]),
});

/** What a provider gave for one identity. */
export type ProviderTokens = Static<typeof TOKENS>;

export interface KeptTokensRow {
  /** Id of the identity. */
  _id: string;
  /** Name of its provider. */
  provider: string;
  sealed: string;
}

export class KeptTokens {
  readonly #rows: Collection<KeptTokensRow>;
  readonly #sealer: Sealer;

  constructor({ log }: Pick<Mongo, 'log'>, sealer: Sealer) {
    this.#rows = log.collection<KeptTokensRow>(KEPT_TOKENS);
    this.#sealer = sealer;
  }

  /** Makes sure of the index, and seals with the newest master key what is sealed otherwise. */
  async start(): Promise<void> {
    await translated(() => this.#rows.createIndex({ provider: 1 }));
    const { prefix } = this.#sealer;
    if (prefix !== null) await translated(() => this.#sealAnew(prefix));
  }

  /** Tokens in the form in which they are stored; null when they are too large. */
  seal(identity: string, tokens: ProviderTokens): string | null {
    const text = JSON.stringify(tokens);
    return text.length > MAX_LENGTH ? null : this.#sealer.seal(text, contextOf(identity));
  }

  /** @param prefix of what needs no new seal: there may be many rows, and few starts find one that does */
  async #sealAnew(prefix: string): Promise<void> {
    let writes: AnyBulkWriteOperation<KeptTokensRow>[] = [];
    const write = async () => {
      if (writes.length > 0) await this.#rows.bulkWrite(writes, { ordered: false });
      writes = [];
    };
    for await (const { _id, sealed } of this.#rows.find({
      sealed: { $not: new RegExp(`^${literalPattern(prefix)}`) },
    })) {
      const text = this.#opened(_id, sealed);
      if (text === null) continue;
      const again = this.#sealer.seal(text, contextOf(_id));
      writes.push({ updateOne: { filter: { _id, sealed }, update: { $set: { sealed: again } } } });
      if (writes.length === BATCH) await write();
    }
    await write();
  }

  /** Keeps sealed tokens in the place of the ones before. */
  async save(identity: string, sealed: string): Promise<void> {
    const { provider } = identityParts({ id: identity });
    await translated(() => this.#rows.updateOne({ _id: identity }, { $set: { provider, sealed } }, { upsert: true }));
  }

  /** @returns null when there are none, or their master key is gone */
  async find(identity: string): Promise<ProviderTokens | null> {
    const row = await translated(() => this.#rows.findOne({ _id: identity }));
    const text = row && this.#opened(identity, row.sealed);
    if (text === null) return null;
    const tokens: unknown = JSON.parse(text);
    return Check(TOKENS, tokens) ? tokens : null;
  }

  /** Null when the master key is gone. */
  #opened(identity: string, sealed: string): string | null {
    try {
      return this.#sealer.open(sealed, contextOf(identity));
    } catch (error) {
      if (error instanceof SealBroken) return null;
      throw error;
    }
  }

  /** Forgets those of identities that belong to no account any more. */
  async forget(identities: readonly string[]): Promise<void> {
    if (identities.length > 0) await translated(() => this.#rows.deleteMany({ _id: { $in: [...identities] } }));
  }
}

/** What tokens are sealed for: they open as no others. */
function contextOf(identity: string): string {
  return `tokens of ${identity}`;
}
