/**
 * A real MongoDB for a test file: the one that the test run shares, or one of its own when the file is run alone. Every
 * file gets a database name of its own.
 */
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MongoClient } from 'mongodb';
import type { Test } from 'tap';
import { startEmbedded } from '../../src/database/embedded/embedded.ts';

export interface TestMongo {
  /** A replica set of one member. */
  readonly url: string;
  /** A fresh name; `<name>`, `<name>_log` and `<name>_files` are dropped when the test ends. */
  readonly database: string;
}

/** Gives `t` a MongoDB; everything is removed at its teardown. */
export async function testMongo(t: Test): Promise<TestMongo> {
  const url = process.env['MILLRACE_TEST_MONGODB_URL'] ?? (await ownMongo(t));
  const database = `test_${randomBytes(6).toString('hex')}`;
  t.teardown(async () => {
    const client = new MongoClient(url);
    // Beside each other: each drop waits for a moment.
    await Promise.all(['', '_log', '_files'].map((end) => client.db(`${database}${end}`).dropDatabase()));
    await client.close();
  });
  return { url, database };
}

async function ownMongo(t: Test): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-test-'));
  const embedded = await startEmbedded({ folder, binary: process.env['MONGOD_BINARY'] });
  t.teardown(async () => {
    await embedded.stop();
    await rm(folder, { recursive: true, force: true });
  });
  return embedded.url;
}
