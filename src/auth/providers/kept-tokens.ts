/**
 * Tokens that providers gave for identities, kept where a provider says `keepTokens`: sealed, in `<db>_log`, as long as the
 * identity belongs to an account. They are shown to nobody. Not here: getting them (flows/), and providers
 * (provider-store.ts).
 */
import type { Collection } from 'mongodb';
import Type, { type Static } from 'typebox';
import { Check } from 'typebox/schema';
import { translated } from '../../database/errors.ts';
import type { Mongo } from '../../database/mongo.ts';
import { SealBroken, type Sealer } from '../../kernel/sealer.ts';
import { identityParts } from '../identity/provider-identity.ts';

/** The collection in `<db>_log`. */
export const KEPT_TOKENS = 'provider_tokens';
/** Larger ones are not kept, in characters of JSON. */
const MAX_LENGTH = 65_536;

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

  async start(): Promise<void> {
    await translated(() => this.#rows.createIndex({ provider: 1 }));
  }

  /** Tokens in the form in which they are stored; null when they are too large. */
  seal(identity: string, tokens: ProviderTokens): string | null {
    const text = JSON.stringify(tokens);
    return text.length > MAX_LENGTH ? null : this.#sealer.seal(text, contextOf(identity));
  }

  /** Keeps sealed tokens in the place of the ones before. */
  async save(identity: string, sealed: string): Promise<void> {
    const { provider } = identityParts({ id: identity });
    await translated(() => this.#rows.updateOne({ _id: identity }, { $set: { provider, sealed } }, { upsert: true }));
  }

  /** @returns null when there are none, or their master key is gone */
  async find(identity: string): Promise<ProviderTokens | null> {
    const row = await translated(() => this.#rows.findOne({ _id: identity }));
    if (row === null) return null;
    try {
      const tokens: unknown = JSON.parse(this.#sealer.open(row.sealed, contextOf(identity)));
      return Check(TOKENS, tokens) ? tokens : null;
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
