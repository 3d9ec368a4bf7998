/**
 * By which name and session a SAML provider knows those that signed in by it: `<db>_log.saml_sessions`. Logging out has to
 * name them as the provider did. A row goes when nobody signed in so for 90 days. Only this folder calls this file.
 */
import { hash } from 'node:crypto';
import type { Collection } from 'mongodb';
import { translated } from '../../database/errors.ts';
import type { Mongo } from '../../database/mongo.ts';
import type { NameId } from '../saml/response.ts';

const KEPT_MS = 90 * 24 * 3_600_000;

export interface SamlSession {
  /** Id of the identity. */
  readonly identity: string;
  readonly nameId: NameId;
  readonly sessionIndex: string | null;
}

interface SamlSessionRow extends SamlSession {
  /** Made of the provider and the NameID. */
  readonly _id: string;
  readonly at: Date;
  readonly expiresAt: Date;
}

export class SamlSessionStore {
  readonly #rows: Collection<SamlSessionRow>;
  #started: Promise<unknown> | undefined;

  constructor({ log }: Pick<Mongo, 'log'>) {
    this.#rows = log.collection<SamlSessionRow>('saml_sessions');
  }

  /** Notes how the provider names a session, in the place of the one before. @param now milliseconds since 1970 */
  async save(provider: string, session: SamlSession, now: number): Promise<void> {
    const _id = idOf(provider, session.nameId);
    const row = { ...session, at: new Date(now), expiresAt: new Date(now + KEPT_MS) };
    await translated(async () => {
      this.#started ??= this.#rows.createIndexes([
        { key: { expiresAt: 1 }, expireAfterSeconds: 0 },
        { key: { identity: 1, at: -1 } },
      ]);
      await this.#started;
      await this.#rows.replaceOne({ _id }, row, { upsert: true });
    });
  }

  /** Who a provider means by a NameID; null where nobody signed in by it. */
  byName(provider: string, nameId: NameId): Promise<SamlSession | null> {
    return translated(() => this.#rows.findOne({ _id: idOf(provider, nameId) }));
  }

  /** How an identity was named last. */
  newestOf(identity: string): Promise<SamlSession | null> {
    return translated(() => this.#rows.findOne({ identity }, { sort: { at: -1 } }));
  }
}

/** Qualifiers are left out: providers write them in one message and not in the other. */
function idOf(provider: string, { value }: NameId): string {
  return hash('sha256', JSON.stringify([provider, value]), 'base64url');
}
