/**
 * The configuration of one process: the settings read once from the environment, all errors reported together, and
 * grouped by the part that needs them.
 */
import type { TSchema } from 'typebox';
import { Check, Errors } from 'typebox/schema';
import { parseMasterKeys } from '../lib/encryption.ts';
import { hostForUrl, isInvalidAddressSetting, stripTrailingSlash } from './addresses.ts';
import { type PublicLocation, resolvePublicLocation } from './base-path.ts';
import { isLoopback } from './loopback.ts';
import { redirectIssue } from './redirect-url-check.ts';
import { DATABASE_NAME_SCHEMA, SETTINGS_SCHEMA, type Settings } from './settings.ts';

const MAX_DATABASE_CONNECTIONS = 64;

export type ServerMode = 'development' | 'production';

export interface Config {
  readonly mode: ServerMode;
  readonly logLevel: Settings['MILLRACE_LOG_LEVEL'];
  readonly folder: string;
  readonly database: DatabaseConfig;
  /** Number of processes behind the port; null for the default (workers.ts). */
  readonly workers: number | null;
  readonly server: ServerConfig;
  readonly auth: AuthConfig;
  /** Private networks that may be called. */
  readonly egress: { readonly allow: readonly string[] };
  readonly files: { readonly stores: string; readonly maxFileBytes: number };
  /** Retention of the event log. */
  readonly events: { readonly maxAgeMs: number; readonly maxBytes: number };
  readonly functions: FunctionsConfig;
  /** The Svix server that sends webhooks; null if Millrace sends them itself. */
  readonly webhooks: { readonly svix: { readonly url: string; readonly token: string } | null };
  readonly realtime: { readonly maxClients: number; readonly heartbeatMs: number };
  /** Memory limit for clients in bytes; null to derive it from the memory of the process. */
  readonly held: { readonly bytes: number | null; readonly bytesPerClient: number | null };
  /** Quota of one principal; 0 is no limit. `bytes` is the size of all its files. */
  readonly quotas: { readonly documents: number; readonly files: number; readonly bytes: number };
  readonly collections: CollectionsConfig;
}

export interface DatabaseConfig {
  readonly url: string | undefined;
  readonly binary: string | undefined;
  readonly name: string;
  readonly maxConnections: number;
}

export interface CollectionsConfig {
  readonly queryTimeoutMs: number;
  readonly listTimeoutMs: number;
  /** A list that takes longer counts as slow. */
  readonly slowQueryMs: number;
  /** Maximum bytes of a list, and of what `expand` adds to one response. */
  readonly listBytes: number;
  readonly expandBytes: number;
}

export interface FunctionsConfig {
  /** Folders in which each sub-folder with a `plugin.json` is a plugin. */
  readonly folders: readonly string[];
  /** Whether functions are run, and `jitless` without the compiler of V8. */
  readonly mode: Settings['MILLRACE_FUNCTIONS'];
}

export interface AuthConfig {
  readonly registration: 'open' | 'closed';
  /** URLs to which a sign-in by an identity provider may redirect. */
  readonly redirects: readonly string[];
  /** Keys that encrypt secrets, or `file:` and the path of a file with them; null for none. */
  readonly masterKey: string | null;
  /** The URL of this server for people, in e-mails and links. */
  readonly base: string;
  /** The issuer of tokens; null for the name that the instance generated for itself. */
  readonly issuer: string | null;
  /** SMTP server and sender of e-mails; null for none. */
  readonly mail: { readonly url: string; readonly from: string } | null;
  /** The default locale of e-mails. */
  readonly language: Settings['MILLRACE_DEFAULT_LOCALE'];
  /** Whether users may sign in by magic link, if e-mails can be sent. */
  readonly magicLink: boolean;
  /** Whether administrators must have a second factor. */
  readonly adminMfa: 'optional' | 'required';
  /** The administrator that settings create; null for none. */
  readonly owner: { readonly email: string; readonly passwordFile: string } | null;
}

export interface ServerConfig {
  readonly mode: ServerMode;
  readonly host: string;
  readonly port: number;
  /** With its path, without a trailing slash. */
  readonly publicUrl: string | undefined;
  /** The path below which clients reach the server, such as `/backend`; empty for none. */
  readonly basePath: string;
  readonly corsOrigins: readonly string[];
  readonly trustProxy: number | readonly string[] | false;
  readonly bodyBytes: number;
  readonly bodyTimeoutMs: number;
  readonly headerTimeoutMs: number;
  readonly idleTimeoutMs: number;
  readonly connectionsPerAddress: number;
  readonly shutdownTimeoutMs: number;
  /** Requests per minute; null is unlimited. */
  readonly rate: { readonly anonymous: number | null; readonly principal: number | null };
}

/** All errors of a configuration, one line each. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly issues: readonly string[];
  constructor(issues: readonly string[]) {
    super(`The configuration has ${issues.length} error${issues.length === 1 ? '' : 's'}:\n  ${issues.join('\n  ')}`);
    this.issues = issues;
  }
}

export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Reads the settings.
 * @param env environment variables; an empty string counts as not set
 * @throws ConfigError with all errors at once
 */
export function loadConfig(env: Environment): Config {
  const issues: string[] = [];
  const values: Record<string, unknown> = {};
  for (const [name, schema] of Object.entries(SETTINGS_SCHEMA.properties)) {
    const read = readSetting(env[name], schema);
    if (read === undefined) continue;
    const value = name === 'MILLRACE_PUBLIC_URL' ? stripTrailingSlash(String(read)) : read;
    values[name] = value;
    const issue = Errors(schema, value)[1][0]?.message ?? (isInvalidAddressSetting(name, value) ? '' : undefined);
    if (issue !== undefined) issues.push(`${name}=${shown(name, env[name])}: ${explain(issue, schema)}`);
  }
  if (issues.length > 0) throw new ConfigError(issues);
  const settings: unknown = values;
  if (!Check(SETTINGS_SCHEMA, settings)) throw new TypeError('Settings that are valid one by one are invalid together');
  if (settings.MILLRACE_MODE === 'development' && !isLoopback(settings.HOST)) {
    throw new ConfigError([
      `HOST=${settings.HOST}: development mode allows everything to everyone, so it listens on loopback only. ` +
        'Use 127.0.0.1, or set MILLRACE_MODE=production.',
    ]);
  }
  if ((settings.MILLRACE_ADMIN_EMAIL === undefined) !== (settings.MILLRACE_ADMIN_PASSWORD_FILE === undefined)) {
    throw new ConfigError(['MILLRACE_ADMIN_EMAIL and MILLRACE_ADMIN_PASSWORD_FILE: set both, or neither']);
  }
  if ((settings.MILLRACE_SVIX_URL === undefined) !== (settings.MILLRACE_SVIX_TOKEN === undefined)) {
    throw new ConfigError(['MILLRACE_SVIX_URL and MILLRACE_SVIX_TOKEN: set both, or neither']);
  }
  for (const address of list(settings.MILLRACE_REDIRECT_URLS)) {
    const issue = redirectIssue(address, settings.MILLRACE_MODE);
    if (issue !== null) throw new ConfigError([`MILLRACE_REDIRECT_URLS=${address}: ${issue}`]);
  }
  const master = settings.MILLRACE_MASTER_KEY;
  if (master !== undefined && !master.startsWith('file:') && parseMasterKeys(master) === null) {
    throw new ConfigError([
      'MILLRACE_MASTER_KEY=…: a key must be 32 bytes as base64; create one: openssl rand -base64 32',
    ]);
  }
  const location = resolvePublicLocation(settings.MILLRACE_PUBLIC_URL, settings.MILLRACE_BASE_PATH);
  if (typeof location === 'string') throw new ConfigError([location]);
  return arrange(settings, location);
}

function readSetting(raw: string | undefined, schema: TSchema): unknown {
  if (raw === undefined || raw === '') return 'default' in schema ? schema.default : undefined;
  const trimmed = raw.trim();
  return 'type' in schema && schema.type === 'integer' && /^-?\d+$/.test(trimmed) ? Number(trimmed) : trimmed;
}

/** Hides values that may be secret: a connection string may contain a password, and a key is a secret. */
function shown(name: string, raw: string | undefined): string {
  return /_(URL|KEY|TOKEN)$/.test(name) ? '…' : (raw ?? '');
}

function explain(message: string, schema: TSchema): string {
  if ('enum' in schema && Array.isArray(schema.enum)) return `must be one of ${schema.enum.join(', ')}`;
  return 'expected' in schema ? String(schema.expected) : message;
}

function list(value: string | undefined): string[] {
  return (value ?? '').split(',').flatMap((part) => part.trim() || []);
}

function trustedProxies(value: string | undefined): ServerConfig['trustProxy'] {
  if (value === undefined) return false;
  return /^\d+$/.test(value) ? Number(value) : list(value);
}

function svixOf({ MILLRACE_SVIX_URL: url, MILLRACE_SVIX_TOKEN: token }: Settings): Config['webhooks']['svix'] {
  return url === undefined || token === undefined ? null : { url: stripTrailingSlash(url), token };
}

function arrangeAuth(settings: Settings, { publicUrl, basePath }: PublicLocation): AuthConfig {
  const { HOST, PORT, MILLRACE_MODE: mode, MILLRACE_ADMIN_EMAIL: email } = settings;
  const base = publicUrl ?? `http://${hostForUrl(HOST)}:${PORT}${basePath}`;
  const from = settings.MILLRACE_EMAIL_FROM ?? `millrace@${new URL(base).hostname}`;
  const url = settings.MILLRACE_SMTP_URL;
  const passwordFile = settings.MILLRACE_ADMIN_PASSWORD_FILE;
  return {
    registration: settings.MILLRACE_REGISTRATION ?? (mode === 'production' ? 'closed' : 'open'),
    redirects: list(settings.MILLRACE_REDIRECT_URLS),
    masterKey: settings.MILLRACE_MASTER_KEY ?? null,
    base,
    // Not `base`: processes of one instance listen at different ports, and a port may change.
    issuer: publicUrl ?? null,
    mail: url === undefined ? null : { url, from },
    language: settings.MILLRACE_DEFAULT_LOCALE,
    magicLink: settings.MILLRACE_MAGIC_LINK === 'on',
    adminMfa: settings.MILLRACE_ADMIN_MFA,
    owner: email === undefined || passwordFile === undefined ? null : { email, passwordFile },
  };
}

/**
 * The database for documents: MILLRACE_DB, or the one in the connection string. `admin` there does not count: it only
 * says where MongoDB stores its users.
 * @throws ConfigError if the connection string has an unusable database name
 */
function databaseName({ MILLRACE_DB: name, MONGODB_URL: url = '' }: Settings): string {
  if (name !== undefined) return name;
  const inUrl = /^[^:]+:\/\/[^/?]*\/([^?]+)/.exec(url)?.[1];
  if (inUrl === undefined || inUrl === 'admin') return 'millrace';
  if (new RegExp(DATABASE_NAME_SCHEMA.pattern).test(inUrl)) return inUrl;
  throw new ConfigError([
    `MONGODB_URL contains the database '${inUrl}': its name ${DATABASE_NAME_SCHEMA.expected}. MILLRACE_DB can set another one.`,
  ]);
}

function arrange(settings: Settings, location: PublicLocation): Config {
  const production = settings.MILLRACE_MODE === 'production';
  return {
    mode: settings.MILLRACE_MODE,
    logLevel: settings.MILLRACE_LOG_LEVEL,
    folder: settings.MILLRACE_DATA_DIR,
    database: {
      url: settings.MONGODB_URL,
      binary: settings.MONGOD_BINARY,
      name: databaseName(settings),
      maxConnections: MAX_DATABASE_CONNECTIONS,
    },
    workers: settings.MILLRACE_WORKERS ?? null,
    server: {
      mode: settings.MILLRACE_MODE,
      host: settings.HOST,
      port: settings.PORT,
      ...location,
      corsOrigins: list(settings.MILLRACE_CORS_ORIGINS).map(stripTrailingSlash),
      trustProxy: trustedProxies(settings.MILLRACE_TRUST_PROXY),
      bodyBytes: settings.MILLRACE_MAX_BODY_BYTES,
      bodyTimeoutMs: settings.MILLRACE_BODY_TIMEOUT_MS,
      headerTimeoutMs: settings.MILLRACE_HEADER_TIMEOUT_MS,
      idleTimeoutMs: settings.MILLRACE_KEEP_ALIVE_TIMEOUT_MS,
      connectionsPerAddress: settings.MILLRACE_MAX_CONNECTIONS_PER_IP,
      shutdownTimeoutMs: settings.MILLRACE_SHUTDOWN_TIMEOUT_MS,
      rate: {
        anonymous: settings.MILLRACE_RATE_LIMIT_ANONYMOUS ?? (production ? 600 : null),
        principal: settings.MILLRACE_RATE_LIMIT_PRINCIPAL ?? (production ? 6_000 : null),
      },
    },
    auth: arrangeAuth(settings, location),
    egress: { allow: list(settings.MILLRACE_EGRESS_ALLOW) },
    files: { stores: settings.MILLRACE_FILE_STORAGE, maxFileBytes: settings.MILLRACE_MAX_FILE_BYTES },
    events: { maxAgeMs: settings.MILLRACE_EVENT_RETENTION_MS, maxBytes: settings.MILLRACE_MAX_EVENT_LOG_BYTES },
    functions: { folders: list(settings.MILLRACE_PLUGINS_DIR), mode: settings.MILLRACE_FUNCTIONS },
    webhooks: { svix: svixOf(settings) },
    realtime: { maxClients: settings.MILLRACE_MAX_LIVE_CLIENTS, heartbeatMs: settings.MILLRACE_HEARTBEAT_MS },
    held: {
      bytes: settings.MILLRACE_MAX_MEMORY_BYTES_ALL_CLIENTS ?? null,
      bytesPerClient: settings.MILLRACE_MAX_MEMORY_BYTES_PER_CLIENT ?? (production ? null : Number.MAX_SAFE_INTEGER),
    },
    quotas: {
      documents: settings.MILLRACE_QUOTA_DOCUMENT_COUNT_PER_USER,
      files: settings.MILLRACE_QUOTA_FILE_COUNT_PER_USER,
      bytes: settings.MILLRACE_QUOTA_FILE_BYTES_PER_USER,
    },
    collections: {
      queryTimeoutMs: settings.MILLRACE_QUERY_TIMEOUT_MS,
      listTimeoutMs: settings.MILLRACE_UNLIMITED_LIST_TIMEOUT_MS,
      slowQueryMs: settings.MILLRACE_INDEX_ADVICE_AFTER_MS,
      listBytes: settings.MILLRACE_MAX_LIST_BYTES,
      expandBytes: settings.MILLRACE_MAX_EXPAND_BYTES,
    },
  };
}
