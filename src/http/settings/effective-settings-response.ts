/** The effective settings for administrators, without secrets and credentials. Pure. */
import { resolve } from 'node:path';
import type { Config } from '../../config/config.ts';
import { SETTINGS_SCHEMA, type Settings } from '../../config/settings.ts';
import type { MailTransportKind } from '../../email/test-email.ts';
import { parseStorageUrls } from '../../files/stores/storage-url.ts';
import type { EffectiveSettings } from './effective-settings-schema.ts';

/** What the configuration does not contain. */
export interface ServerInfo {
  readonly version: string;
  readonly databaseVersion: string;
  readonly mailTransport: MailTransportKind;
}

/** @param request the values from the request itself */
export function effectiveSettings(
  config: Config,
  server: ServerInfo,
  request: EffectiveSettings['request'],
): EffectiveSettings {
  const { mail } = config.auth;
  return {
    mode: config.mode,
    version: server.version,
    database: {
      name: config.database.name,
      version: server.databaseVersion,
      embedded: config.database.url === undefined,
      dataDir: config.database.url === undefined ? resolve(config.folder) : null,
    },
    publicUrl: config.server.publicUrl ?? null,
    request,
    registration: config.auth.registration,
    masterKey: config.auth.masterKey !== null,
    email: {
      transport: server.mailTransport,
      server: mail === null ? null : withoutCredentials(mail.url),
      from: mail?.from ?? null,
    },
    files: positionsOf(config),
    corsOrigins: [...config.server.corsOrigins],
    functions: config.functions.mode,
    limits: Object.entries(limitsOf(config)).map(([setting, value]) => ({
      setting,
      description: describe(setting),
      value: value === Number.MAX_SAFE_INTEGER ? null : value,
    })),
  };
}

/** `smtps://user:password@mail.example.org:465/?…` as `smtps://mail.example.org:465`. */
function withoutCredentials(url: string): string {
  const { protocol, host } = new URL(url);
  return `${protocol}//${host}`;
}

function positionsOf({ files, database }: Config): EffectiveSettings['files'] {
  return parseStorageUrls(files.stores).map((address) => {
    if (address.kind === 'gridfs') return { kind: 'gridfs', location: `${database.name}_files` };
    const server = address.endpoint ?? `AWS, ${address.region}`;
    return { kind: 's3', location: `${address.bucket}/${address.prefix} at ${server}` };
  });
}

type NumberSetting = {
  [Name in keyof Settings]-?: NonNullable<Settings[Name]> extends number ? Name : never;
}[keyof Settings];

/** Numbers that limit no client. */
type OtherNumber =
  | 'PORT'
  | 'MILLRACE_WORKERS'
  | 'MILLRACE_BODY_TIMEOUT_MS'
  | 'MILLRACE_HEADER_TIMEOUT_MS'
  | 'MILLRACE_KEEP_ALIVE_TIMEOUT_MS'
  | 'MILLRACE_SHUTDOWN_TIMEOUT_MS'
  | 'MILLRACE_INDEX_ADVICE_AFTER_MS'
  | 'MILLRACE_HEARTBEAT_MS';

/** The limits in the order in which they are shown. A setting that is a number and is missing here does not compile. */
function limitsOf({
  server,
  files,
  events,
  realtime,
  held,
  quotas,
  collections,
}: Config): Readonly<Record<Exclude<NumberSetting, OtherNumber>, number | null>> {
  return {
    MILLRACE_RATE_LIMIT_ANONYMOUS: server.rate.anonymous,
    MILLRACE_RATE_LIMIT_PRINCIPAL: server.rate.principal,
    MILLRACE_MAX_CONNECTIONS_PER_IP: server.connectionsPerAddress,
    MILLRACE_MAX_LIVE_CLIENTS: realtime.maxClients,
    MILLRACE_MAX_BODY_BYTES: server.bodyBytes,
    MILLRACE_MAX_FILE_BYTES: files.maxFileBytes,
    MILLRACE_QUOTA_DOCUMENT_COUNT_PER_USER: quotas.documents === 0 ? null : quotas.documents,
    MILLRACE_QUOTA_FILE_COUNT_PER_USER: quotas.files === 0 ? null : quotas.files,
    MILLRACE_QUOTA_FILE_BYTES_PER_USER: quotas.bytes === 0 ? null : quotas.bytes,
    MILLRACE_QUERY_TIMEOUT_MS: collections.queryTimeoutMs,
    MILLRACE_UNLIMITED_LIST_TIMEOUT_MS: collections.listTimeoutMs,
    MILLRACE_MAX_LIST_BYTES: collections.listBytes,
    MILLRACE_MAX_EXPAND_BYTES: collections.expandBytes,
    MILLRACE_MAX_MEMORY_BYTES_ALL_CLIENTS: held.bytes,
    MILLRACE_MAX_MEMORY_BYTES_PER_CLIENT: held.bytesPerClient,
    MILLRACE_EVENT_RETENTION_MS: events.maxAgeMs,
    MILLRACE_MAX_EVENT_LOG_BYTES: events.maxBytes,
  };
}

function describe(setting: string): string {
  const { [setting]: schema = {} }: Readonly<Record<string, object>> = SETTINGS_SCHEMA.properties;
  return 'description' in schema ? String(schema.description) : '';
}
