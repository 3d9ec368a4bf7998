/** Builds the real app on a real database for one test file, and closes it when the file ends. */
import '../../src/fastify.ts';
import type { FastifyInstance } from 'fastify';
import pino from 'pino';
import type { Test } from 'tap';
import { buildApp } from '../../src/app.ts';
import { loadConfig } from '../../src/kernel/config/config.ts';
import type { DiskSpace } from '../../src/kernel/disk-space.ts';
import { makeParts, type Parts } from '../../src/parts.ts';
import { type TestMongo, testMongo } from './mongo.ts';

export interface TestApp {
  readonly app: FastifyInstance;
  readonly parts: Parts;
}

/**
 * @param settings environment variables that replace the defaults
 * @param place the database to use; if absent, a new one
 * @param space what is told as the space of the embedded database; if absent, none is watched
 */
export async function buildTestApp(
  t: Test,
  settings: Record<string, string> = {},
  place?: TestMongo,
  space?: DiskSpace,
): Promise<TestApp> {
  const { url, database } = place ?? (await testMongo(t));
  const config = loadConfig({ MILLRACE_DB: database, PORT: '0', ...settings });
  const parts = await makeParts(config, url, undefined, undefined, undefined, space);
  const app = await buildApp(parts, pino({ level: 'silent' }));
  t.teardown(async () => {
    await app.close();
    await parts.close();
  });
  await app.ready();
  return { app, parts };
}
