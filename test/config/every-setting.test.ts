/**
 * Every setting changes the configuration, and some part of the program reads every part of the configuration:
 * otherwise a documented setting would have no effect.
 */
import { readdirSync, readFileSync } from 'node:fs';
import t from 'tap';
import type { TSchema } from 'typebox';
import { type Environment, loadConfig } from '../../src/config/config.ts';
import { SETTINGS_SCHEMA } from '../../src/config/settings.ts';

/** Another value than the default, for settings that are texts. */
const TEXTS: Environment = {
  HOST: '127.0.0.2',
  MONGODB_URL: 'mongodb://127.0.0.1/name',
  MONGOD_BINARY: '/usr/bin/mongod',
  MILLRACE_DB: 'other',
  MILLRACE_DATA_DIR: 'elsewhere',
  MILLRACE_PLUGINS_DIR: 'plugins,examples',
  MILLRACE_PUBLIC_URL: 'https://api.example.org',
  MILLRACE_BASE_PATH: '/backend',
  MILLRACE_CORS_ORIGINS: 'https://app.example.org',
  MILLRACE_TRUST_PROXY: '1',
  MILLRACE_EGRESS_ALLOW: '10.0.0.0/8',
  MILLRACE_FILE_STORAGE: 's3://bucket?endpoint=http://127.0.0.1&region=eu',
  MILLRACE_REDIRECT_URLS: 'https://app.example.org/signed-in',
  MILLRACE_MASTER_KEY: 'file:/run/key',
  MILLRACE_SMTP_URL: 'smtp://mail.example.org',
  MILLRACE_EMAIL_FROM: 'from@example.org',
  MILLRACE_SVIX_URL: 'https://svix.example.org',
  MILLRACE_SVIX_TOKEN: 'token',
  MILLRACE_ADMIN_EMAIL: 'owner@example.org',
  MILLRACE_ADMIN_PASSWORD_FILE: '/run/password',
};

/** Other settings that are required for a setting to have a meaning. */
const BESIDES: Readonly<Record<string, Environment>> = {
  MILLRACE_EMAIL_FROM: { MILLRACE_SMTP_URL: 'smtp://mail.example.org' },
  MILLRACE_SVIX_URL: { MILLRACE_SVIX_URL: 'https://first.example.org', MILLRACE_SVIX_TOKEN: 'token' },
  MILLRACE_SVIX_TOKEN: { MILLRACE_SVIX_URL: 'https://svix.example.org', MILLRACE_SVIX_TOKEN: 'first' },
  MILLRACE_ADMIN_EMAIL: { MILLRACE_ADMIN_EMAIL: 'first@example.org', MILLRACE_ADMIN_PASSWORD_FILE: '/run/password' },
  MILLRACE_ADMIN_PASSWORD_FILE: {
    MILLRACE_ADMIN_EMAIL: 'owner@example.org',
    MILLRACE_ADMIN_PASSWORD_FILE: '/run/first',
  },
};

/** Another value than the default, or undefined for a text without an example. */
function other(name: string, schema: TSchema): string | undefined {
  const value: unknown = 'default' in schema ? schema.default : undefined;
  if ('enum' in schema && Array.isArray(schema.enum)) return String(schema.enum.findLast((choice) => choice !== value));
  if (!('type' in schema) || schema.type !== 'integer') return TEXTS[name];
  const maximum = 'maximum' in schema ? Number(schema.maximum) : Number.MAX_SAFE_INTEGER;
  const number = typeof value === 'number' ? value : Math.min(16_000_000, maximum);
  return String(number === maximum ? number - 1 : number + 1);
}

t.test('every setting changes the configuration', async (t) => {
  for (const [name, schema] of Object.entries(SETTINGS_SCHEMA.properties)) {
    const value = other(name, schema);
    if (value === undefined) {
      t.fail(`${name} needs an example in this test`);
      continue;
    }
    const besides = BESIDES[name] ?? {};
    t.strictNotSame(loadConfig({ ...besides, [name]: value }), loadConfig(besides), `${name}=${value}`);
  }
});

t.test('every part of the configuration is read', async (t) => {
  const source = new URL('../../src/', import.meta.url);
  const text = readdirSync(source, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts') && !path.startsWith('config/'))
    .map((path) => readFileSync(new URL(path, source), 'utf8'))
    .join('\n');
  const check = (part: object, path: string): void => {
    for (const [name, value] of Object.entries(part)) {
      t.ok(new RegExp(`\\b${name}\\b`).test(text), `${path}${name} is read somewhere`);
      const isGroup = typeof value === 'object' && value !== null && !Array.isArray(value);
      if (isGroup) check(value, `${path}${name}.`);
    }
  };
  check(loadConfig({ ...TEXTS, MILLRACE_TRUST_PROXY: '1' }), '');
});
