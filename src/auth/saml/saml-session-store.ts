/**
 * The name and session under which a SAML provider knows its signed-in users: `<db>_log.saml_sessions`. Logout has to
 * name them as the provider did. A row expires 90 days after the last such sign-in. Only this folder calls this file.
 */
import { hash } from 'node:crypto';
import type { Collection } from 'mongodb';
import { withTranslatedErrors } from '../../database/errors.ts';
import type { Mongo } from '../../database/mongo.ts';
import type { NameId } from './response-checks.ts';

const RETENTION_MS = 90 * 24 * 3_600_000;

export interface SamlSession {
  /** Id of the identity. */
  readonly identity: string;
  readonly nameId: NameId;
  readonly sessionIndex: string | null;
}

interface SamlSessionRow extends SamlSession {
  /** Derived from the provider and the NameID. */
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

  /** Stores how the provider names a session, replacing the previous name. @param now milliseconds since 1970 */
  async save(provider: string, session: SamlSession, now: number): Promise<void> {
    const _id = idOf(provider, session.nameId);
    const row = { ...session, at: new Date(now), expiresAt: new Date(now + RETENTION_MS) };
    await withTranslatedErrors(async () => {
      this.#started ??= this.#rows.createIndexes([
        { key: { expiresAt: 1 }, expireAfterSeconds: 0 },
        { key: { identity: 1, at: -1 } },
      ]);
      await this.#started;
      await this.#rows.replaceOne({ _id }, row, { upsert: true });
    });
  }

  /** The identity that a provider means by a NameID; null where no one signed in with it. */
  byName(provider: string, nameId: NameId): Promise<SamlSession | null> {
    return withTranslatedErrors(() => this.#rows.findOne({ _id: idOf(provider, nameId) }));
  }

  /** The last name of an identity. */
  newestOf(identity: string): Promise<SamlSession | null> {
    return withTranslatedErrors(() => this.#rows.findOne({ identity }, { sort: { at: -1 } }));
  }
}

/** Qualifiers are left out: providers write them in one message and not in the other. */
function idOf(provider: string, { value }: NameId): string {
  return hash('sha256', JSON.stringify([provider, value]), 'base64url');
}
