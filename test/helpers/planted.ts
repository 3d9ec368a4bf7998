/**
 * Secrets that a test plants and then searches for wherever a server may store or reveal something: its collections,
 * its log, responses.
 */
import { BSON } from 'mongodb';
import type { Services } from '../../src/services.ts';

export class Planted {
  readonly secrets = new Map<string, string>();
  /** Which secret was found where. */
  readonly found: string[] = [];
  /** Number of searched texts. */
  checked = 0;

  /**
   * Remembers a secret under a name for people.
   * @returns the secret
   */
  plant(name: string, secret: string): string {
    if (secret.length <= 18) throw new Error(`The secret '${name}' is too short to be searched for`);
    this.secrets.set(name, secret);
    return secret;
  }

  look(where: string, text: string): void {
    this.checked += 1;
    for (const [name, secret] of this.secrets) if (text.includes(secret)) this.found.push(`${name} in ${where}`);
  }

  /** Searches every document of every collection. */
  async lookThrough({ mongo }: Pick<Services, 'mongo'>): Promise<void> {
    for (const db of [mongo.data, mongo.log, mongo.files]) {
      for (const { name } of await db.listCollections({}, { nameOnly: true }).toArray()) {
        if (name.startsWith('system.')) continue;
        const documents = await db.collection(name).find({}, { raw: true }).toArray();
        for (const raw of documents) this.look(`${db.databaseName}.${name}`, textOf(raw));
      }
    }
  }
}

/** A raw document as text that contains strings unchanged. */
function textOf(raw: unknown): string {
  if (!(raw instanceof Uint8Array)) throw new TypeError('The driver gave no bytes');
  return `${Buffer.from(raw).toString('latin1')}${BSON.EJSON.stringify(BSON.deserialize(raw))}`;
}
