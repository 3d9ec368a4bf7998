/**
 * The configuration of one process: the settings read once from the environment, all faults reported together, and
 * arranged by the part that needs them. Not here: the settings themselves (settings.ts), and what the owner changes
 * while the program runs (policies, functions, providers); that is data.
 */
import type { TSchema } from 'typebox';
import { Check, Errors } from 'typebox/schema';
import { parseMasterKeys } from '../sealer.ts';
import { inUrl, isAddressFault, withoutSlash } from './addresses.ts';
import { type PublicPlace, publicPlace } from './base-path.ts';
import { isLoopback } from './loopback.ts';
import { redirectFault } from './redirects.ts';
import { DATABASE_NAME, SETTINGS, type Settings } from './settings.ts';

export type Mode = 'development' | 'production';

export interface Config {
  readonly mode: Mode;
  readonly logLevel: Settings['MILLRACE_LOG_LEVEL'];
  readonly folder: string;
  readonly database: { readonly url: string | undefined; readonly binary: string | undefined; readonly name: string };
  readonly server: ServerConfig;
  readonly auth: AuthConfig;
  /** Networks that may be called besides public addresses. */
  readonly egress: { readonly allow: readonly string[] };
  readonly files: { readonly stores: string; readonly maxFileBytes: number };
  /** How much of the event log is kept. */
  readonly events: { readonly maxAgeMs: number; readonly maxBytes: number };
  readonly functions: FunctionsConfig;
  /** The Svix server that sends webhooks; null where Millrace sends them itself. */
  readonly webhooks: { readonly svix: { readonly url: string; readonly token: string } | null };
  readonly realtime: { readonly maxClients: number; readonly heartbeatMs: number };
  /** Bytes that may be held for clients; null if the bound comes from the memory of the process. */
  readonly held: { readonly bytes: number | null; readonly bytesPerClient: number | null };
  /** What one principal may have made; 0 is no bound. `bytes` is the size of all its files. */
  readonly quotas: { readonly documents: number; readonly files: number; readonly bytes: number };
  readonly collections: CollectionsConfig;
}

export interface CollectionsConfig {
  readonly queryTimeoutMs: number;
  readonly listTimeoutMs: number;
  /** A list that takes longer counts as slow. */
  readonly slowListMs: number;
  /** Bytes of a list, and of what `expand` adds to one answer. */
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
  /** Addresses that a sign-in by an identity provider may end at. */
  readonly redirects: readonly string[];
  /** Keys that seal secrets, or `file:` and the path of a file with them; null for none. */
  readonly masterKey: string | null;
  /** The address of this server for people, as it is written in letters and links. */
  readonly base: string;
  /** The issuer that tokens name; null for the name that the installation made for itself. */
  readonly issuer: string | null;
  /** Server and sender of mail; null where there is none. */
  readonly mail: { readonly url: string; readonly from: string } | null;
  /** The language of letters whose reader is not known to prefer one. */
  readonly language: Settings['MILLRACE_LANGUAGE'];
  /** Whether people may sign in by a letter, where mail can be sent. */
  readonly signInLink: boolean;
  /** Whether owners must have a second factor. */
  readonly ownerFactor: 'optional' | 'required';
  /** The owner that settings make; null for none. */
  readonly owner: { readonly email: string; readonly passwordFile: string } | null;
}

export interface ServerConfig {
  readonly mode: Mode;
  readonly host: string;
  readonly port: number;
  /** With its path, without a slash at the end. */
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
  /** Requests a minute; null is unlimited. */
  readonly rate: { readonly anonymous: number | null; readonly principal: number | null };
}

/** All faults of a configuration, one line each. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly faults: readonly string[];
  constructor(faults: readonly string[]) {
    super(`The configuration has ${faults.length} fault${faults.length === 1 ? '' : 's'}:\n  ${faults.join('\n  ')}`);
    this.faults = faults;
  }
}

export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Reads the settings. Pure.
 * @param env environment variables; an empty string counts as not set
 * @throws ConfigError naming every fault at once
 */
export function loadConfig(env: Environment): Config {
  const faults: string[] = [];
  const values: Record<string, unknown> = {};
  for (const [name, schema] of Object.entries(SETTINGS.properties)) {
    const read = readSetting(env[name], schema);
    if (read === undefined) continue;
    const value = name === 'MILLRACE_PUBLIC_URL' ? withoutSlash(String(read)) : read;
    values[name] = value;
    const fault = Errors(schema, value)[1][0]?.message ?? (isAddressFault(name, value) ? '' : undefined);
    if (fault !== undefined) faults.push(`${name}=${shown(name, env[name])}: ${explain(fault, schema)}`);
  }
  if (faults.length > 0) throw new ConfigError(faults);
  const settings: unknown = values;
  if (!Check(SETTINGS, settings)) throw new TypeError('Settings that are right one by one are wrong together');
  if (settings.MILLRACE_MODE === 'development' && !isLoopback(settings.HOST)) {
    throw new ConfigError([
      `HOST=${settings.HOST}: development mode allows everything to everyone, so it listens on loopback only. ` +
        'Use 127.0.0.1, or set MILLRACE_MODE=production.',
    ]);
  }
  if ((settings.MILLRACE_OWNER_EMAIL === undefined) !== (settings.MILLRACE_OWNER_PASSWORD_FILE === undefined)) {
    throw new ConfigError(['MILLRACE_OWNER_EMAIL and MILLRACE_OWNER_PASSWORD_FILE: set both, or neither']);
  }
  if ((settings.MILLRACE_SVIX_URL === undefined) !== (settings.MILLRACE_SVIX_TOKEN === undefined)) {
    throw new ConfigError(['MILLRACE_SVIX_URL and MILLRACE_SVIX_TOKEN: set both, or neither']);
  }
  for (const address of list(settings.MILLRACE_REDIRECTS)) {
    const fault = redirectFault(address, settings.MILLRACE_MODE);
    if (fault !== null) throw new ConfigError([`MILLRACE_REDIRECTS=${address}: ${fault}`]);
  }
  const master = settings.MILLRACE_MASTER_KEY;
  if (master !== undefined && !master.startsWith('file:') && parseMasterKeys(master) === null) {
    throw new ConfigError([
      'MILLRACE_MASTER_KEY=…: a key must be 32 bytes as base64; make one: openssl rand -base64 32',
    ]);
  }
  const place = publicPlace(settings.MILLRACE_PUBLIC_URL, settings.MILLRACE_BASE_PATH);
  if (typeof place === 'string') throw new ConfigError([place]);
  return arrange(settings, place);
}

function readSetting(raw: string | undefined, schema: TSchema): unknown {
  if (raw === undefined || raw === '') return 'default' in schema ? schema.default : undefined;
  const trimmed = raw.trim();
  return 'type' in schema && schema.type === 'integer' && /^-?\d+$/.test(trimmed) ? Number(trimmed) : trimmed;
}

/** Hides what may be secret: a connection string may hold a password, and a key is a secret. */
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
  return url === undefined || token === undefined ? null : { url: withoutSlash(url), token };
}

function arrangeAuth(settings: Settings, { publicUrl, basePath }: PublicPlace): AuthConfig {
  const { HOST, PORT, MILLRACE_MODE: mode, MILLRACE_OWNER_EMAIL: email } = settings;
  const base = publicUrl ?? `http://${inUrl(HOST)}:${PORT}${basePath}`;
  const from = settings.MILLRACE_MAIL_FROM ?? `millrace@${new URL(base).hostname}`;
  const url = settings.MILLRACE_SMTP_URL;
  const passwordFile = settings.MILLRACE_OWNER_PASSWORD_FILE;
  return {
    registration: settings.MILLRACE_REGISTRATION ?? (mode === 'production' ? 'closed' : 'open'),
    redirects: list(settings.MILLRACE_REDIRECTS),
    masterKey: settings.MILLRACE_MASTER_KEY ?? null,
    base,
    // Not `base`: processes of one installation listen at different ports, and a port may change.
    issuer: publicUrl ?? null,
    mail: url === undefined ? null : { url, from },
    language: settings.MILLRACE_LANGUAGE,
    signInLink: settings.MILLRACE_SIGN_IN_LINK === 'on',
    ownerFactor: settings.MILLRACE_OWNER_MFA,
    owner: email === undefined || passwordFile === undefined ? null : { email, passwordFile },
  };
}

/**
 * The database for documents: the one that MILLRACE_DB names, else the one in the connection string. `admin` there does
 * not count: it only says where MongoDB's own accounts are.
 * @throws ConfigError when the connection string names a database that cannot be used
 */
function databaseName({ MILLRACE_DB: name, MONGODB_URL: url = '' }: Settings): string {
  if (name !== undefined) return name;
  const inUrl = /^[^:]+:\/\/[^/?]*\/([^?]+)/.exec(url)?.[1];
  if (inUrl === undefined || inUrl === 'admin') return 'millrace';
  if (new RegExp(DATABASE_NAME.pattern).test(inUrl)) return inUrl;
  throw new ConfigError([
    `MONGODB_URL names the database '${inUrl}': its name ${DATABASE_NAME.expected}. MILLRACE_DB can name another one.`,
  ]);
}

function arrange(settings: Settings, place: PublicPlace): Config {
  const production = settings.MILLRACE_MODE === 'production';
  return {
    mode: settings.MILLRACE_MODE,
    logLevel: settings.MILLRACE_LOG_LEVEL,
    folder: settings.MILLRACE_FOLDER,
    database: { url: settings.MONGODB_URL, binary: settings.MONGOD_BINARY, name: databaseName(settings) },
    server: {
      mode: settings.MILLRACE_MODE,
      host: settings.HOST,
      port: settings.PORT,
      ...place,
      corsOrigins: list(settings.MILLRACE_CORS_ORIGINS).map(withoutSlash),
      trustProxy: trustedProxies(settings.MILLRACE_TRUST_PROXY),
      bodyBytes: settings.MILLRACE_BODY_BYTES,
      bodyTimeoutMs: settings.MILLRACE_BODY_TIMEOUT_MS,
      headerTimeoutMs: settings.MILLRACE_HEADER_TIMEOUT_MS,
      idleTimeoutMs: settings.MILLRACE_IDLE_TIMEOUT_MS,
      connectionsPerAddress: settings.MILLRACE_CONNECTIONS_PER_ADDRESS,
      shutdownTimeoutMs: settings.MILLRACE_SHUTDOWN_TIMEOUT_MS,
      rate: {
        anonymous: settings.MILLRACE_RATE_ANONYMOUS ?? (production ? 600 : null),
        principal: settings.MILLRACE_RATE_PRINCIPAL ?? (production ? 6_000 : null),
      },
    },
    auth: arrangeAuth(settings, place),
    egress: { allow: list(settings.MILLRACE_EGRESS_ALLOW) },
    files: { stores: settings.MILLRACE_FILES, maxFileBytes: settings.MILLRACE_FILE_BYTES },
    events: { maxAgeMs: settings.MILLRACE_EVENT_LOG_AGE_MS, maxBytes: settings.MILLRACE_EVENT_LOG_BYTES },
    functions: { folders: list(settings.MILLRACE_PLUGINS), mode: settings.MILLRACE_FUNCTIONS },
    webhooks: { svix: svixOf(settings) },
    realtime: { maxClients: settings.MILLRACE_LIVE_CLIENTS, heartbeatMs: settings.MILLRACE_HEARTBEAT_MS },
    held: {
      bytes: settings.MILLRACE_HELD_BYTES ?? null,
      bytesPerClient: settings.MILLRACE_HELD_BYTES_PER_CLIENT ?? (production ? null : Number.MAX_SAFE_INTEGER),
    },
    quotas: {
      documents: settings.MILLRACE_QUOTA_DOCUMENTS,
      files: settings.MILLRACE_QUOTA_FILES,
      bytes: settings.MILLRACE_QUOTA_BYTES,
    },
    collections: {
      queryTimeoutMs: settings.MILLRACE_QUERY_TIMEOUT_MS,
      listTimeoutMs: settings.MILLRACE_LIST_TIMEOUT_MS,
      slowListMs: settings.MILLRACE_SLOW_LIST_MS,
      listBytes: settings.MILLRACE_LIST_BYTES,
      expandBytes: settings.MILLRACE_EXPAND_BYTES,
    },
  };
}
