/**
 * The settings that are in force, for owners to look at: nothing secret and no credential is among them. Pure. Not here:
 * reading them (kernel/config), and what owners change while the program runs (admin/sign-in/settings-routes.ts).
 */
import { resolve } from 'node:path';
import type { MailWay } from '../../auth/letters/test-letters.ts';
import { parseStoreAddresses } from '../../files/stores/store-address.ts';
import type { Config } from '../../kernel/config/config.ts';
import { SETTINGS } from '../../kernel/config/settings.ts';
import type { EffectiveSettings } from './installation-shapes.ts';

/** What the configuration does not say. */
export interface AboutProgram {
  readonly version: string;
  readonly databaseVersion: string;
  readonly mailWay: MailWay;
}

/** @param request what a request told of itself */
export function effectiveSettings(
  config: Config,
  about: AboutProgram,
  request: EffectiveSettings['request'],
): EffectiveSettings {
  const { mail } = config.auth;
  return {
    mode: config.mode,
    version: about.version,
    database: {
      name: config.database.name,
      version: about.databaseVersion,
      embedded: config.database.url === undefined,
      folder: config.database.url === undefined ? resolve(config.folder) : null,
    },
    publicUrl: config.server.publicUrl ?? null,
    request,
    registration: config.auth.registration,
    masterKey: config.auth.masterKey !== null,
    mail: {
      way: about.mailWay,
      server: mail === null ? null : withoutCredentials(mail.url),
      from: mail?.from ?? null,
    },
    files: placesOf(config),
    origins: [...config.server.corsOrigins],
    functions: config.functions.mode,
    limits: limitsOf(config).map(([setting, value]) => ({
      setting,
      about: describe(SETTINGS.properties[setting]),
      value: value === Number.MAX_SAFE_INTEGER ? null : value,
    })),
  };
}

/** `smtps://user:password@mail.example.org:465/?…` as `smtps://mail.example.org:465`. */
function withoutCredentials(url: string): string {
  const { protocol, host } = new URL(url);
  return `${protocol}//${host}`;
}

function placesOf({ files, database }: Config): EffectiveSettings['files'] {
  return parseStoreAddresses(files.stores).map((address) => {
    if (address.kind === 'gridfs') return { kind: 'gridfs', place: `${database.name}_files` };
    const server = address.endpoint ?? `AWS, ${address.region}`;
    return { kind: 's3', place: `${address.bucket}/${address.prefix} at ${server}` };
  });
}

function limitsOf({
  server,
  files,
  events,
  realtime,
  held,
  quotas,
  collections,
}: Config): readonly (readonly [keyof typeof SETTINGS.properties, number | null])[] {
  return [
    ['MILLRACE_RATE_ANONYMOUS', server.rate.anonymous],
    ['MILLRACE_RATE_PRINCIPAL', server.rate.principal],
    ['MILLRACE_CONNECTIONS_PER_ADDRESS', server.connectionsPerAddress],
    ['MILLRACE_LIVE_CLIENTS', realtime.maxClients],
    ['MILLRACE_BODY_BYTES', server.bodyBytes],
    ['MILLRACE_FILE_BYTES', files.maxFileBytes],
    ['MILLRACE_QUOTA_DOCUMENTS', quotas.documents === 0 ? null : quotas.documents],
    ['MILLRACE_QUOTA_FILES', quotas.files === 0 ? null : quotas.files],
    ['MILLRACE_QUOTA_BYTES', quotas.bytes === 0 ? null : quotas.bytes],
    ['MILLRACE_QUERY_TIMEOUT_MS', collections.queryTimeoutMs],
    ['MILLRACE_LIST_TIMEOUT_MS', collections.listTimeoutMs],
    ['MILLRACE_LIST_BYTES', collections.listBytes],
    ['MILLRACE_EXPAND_BYTES', collections.expandBytes],
    ['MILLRACE_HELD_BYTES', held.bytes],
    ['MILLRACE_HELD_BYTES_PER_CLIENT', held.bytesPerClient],
    ['MILLRACE_EVENT_LOG_AGE_MS', events.maxAgeMs],
    ['MILLRACE_EVENT_LOG_BYTES', events.maxBytes],
  ];
}

function describe(schema: object): string {
  return 'description' in schema ? String(schema.description) : '';
}
