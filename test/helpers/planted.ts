/**
 * Secrets that a test plants and then looks for wherever a server may keep or tell something: its collections, its log,
 * answers. Not here: planting them, which is what users do.
 */
import { BSON } from 'mongodb';
import type { Parts } from '../../src/parts.ts';

export class Planted {
  readonly secrets = new Map<string, string>();
  /** Where which secret was found. */
  readonly found: string[] = [];
  /** How many places were looked at. */
  looked = 0;

  /** Remembers a secret under a name for people. @returns the secret */
  plant(name: string, secret: string): string {
    if (secret.length <= 18) throw new Error(`The secret '${name}' is too short to be looked for`);
    this.secrets.set(name, secret);
    return secret;
  }

  look(where: string, text: string): void {
    this.looked += 1;
    for (const [name, secret] of this.secrets) if (text.includes(secret)) this.found.push(`${name} in ${where}`);
  }

  /** Looks through every document of every collection. */
  async lookThrough({ mongo }: Pick<Parts, 'mongo'>): Promise<void> {
    for (const db of [mongo.data, mongo.log, mongo.files]) {
      for (const { name } of await db.listCollections({}, { nameOnly: true }).toArray()) {
        if (name.startsWith('system.')) continue;
        const documents = await db.collection(name).find({}, { raw: true }).toArray();
        for (const raw of documents) this.look(`${db.databaseName}.${name}`, textOf(raw));
      }
    }
  }
}

/** A raw document as text in which strings stand as they are. */
function textOf(raw: unknown): string {
  if (!(raw instanceof Uint8Array)) throw new TypeError('The driver gave no bytes');
  return `${Buffer.from(raw).toString('latin1')}${BSON.EJSON.stringify(BSON.deserialize(raw))}`;
}
