/** Builds the real app on a real database for one test file, and closes it when the file ends. */
import '../../src/fastify-types.ts';
import type { FastifyInstance } from 'fastify';
import pino from 'pino';
import type { Test } from 'tap';
import { buildApp } from '../../src/app.ts';
import { loadConfig } from '../../src/config/config.ts';
import type { DiskSpaceMonitor } from '../../src/lib/disk-space.ts';
import { createServices, type Services } from '../../src/services.ts';
import { type TestMongo, testMongo } from './mongo.ts';

export interface TestApp {
  readonly app: FastifyInstance;
  readonly services: Services;
}

/**
 * @param settings environment variables that replace the defaults
 * @param testDatabase the database; if absent, a new one
 * @param space reports the disk space of the embedded database; if absent, none is watched
 */
export async function buildTestApp(
  t: Test,
  settings: Record<string, string> = {},
  testDatabase?: TestMongo,
  space?: DiskSpaceMonitor,
): Promise<TestApp> {
  const { url, database } = testDatabase ?? (await testMongo(t));
  const config = loadConfig({ MILLRACE_DB: database, PORT: '0', ...settings });
  const services = await createServices(config, url, { space });
  const app = await buildApp(services, pino({ level: 'silent' }));
  t.teardown(async () => {
    await app.close();
    await services.close();
  });
  await app.ready();
  return { app, services };
}
