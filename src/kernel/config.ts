/**
 * The settings of one process: one schema, read once from the environment, all faults reported together.
 * `docs/configuration.md` and `.env.example` are generated from the schema. Not here: what the owner changes while the
 * program runs (policies, functions, providers); that is data.
 */
import Type, { type Static, type TSchema } from 'typebox';
import { Value } from 'typebox/value';
import { inUrl, isAddressFault, withoutSlash } from './addresses.ts';
import { isLoopback } from './loopback.ts';
import { parseMasterKeys } from './sealer.ts';

const text = (description: string, options: object = {}) => Type.Optional(Type.String({ description, ...options }));
const count = (description: string, value: number, minimum = 1, maximum = Number.MAX_SAFE_INTEGER) =>
  Type.Integer({ description, default: value, minimum, maximum });
/** Milliseconds that a timer waits: of more than 2^31 - 1 it would be over at once. */
const time = (description: string, value: number, minimum = 1, maximum = 2_147_483_647) =>
  count(description, value, minimum, maximum);
const rate = (description: string) =>
  Type.Optional(Type.Integer({ description: `${description} Development: unlimited.`, minimum: 1 }));
const choice = <const T extends readonly string[]>(values: T, value: T[number], description: string) =>
  Type.Unsafe<T[number]>({ type: 'string', enum: [...values], default: value, description });

/** Every setting by the name of its environment variable. */
export const SETTINGS = Type.Object({
  PORT: count('TCP port to listen on; 0 takes a free one.', 3000, 0, 65_535),
  HOST: Type.String({
    description: 'Address to listen on. Development mode allows loopback addresses only.',
    default: '127.0.0.1',
    minLength: 1,
    expected: 'must be an address or a name of this machine',
  }),
  MONGODB_URL: text('Connection string of a MongoDB replica set. Without it Millrace runs a MongoDB of its own.', {
    pattern: '^mongodb(\\+srv)?://.+',
    expected: 'must begin with mongodb:// or mongodb+srv://',
  }),
  MONGOD_BINARY: text('Path of the mongod to run when MONGODB_URL is not set.', { minLength: 1 }),
  MILLRACE_MODE: choice(
    ['development', 'production'],
    'development',
    'development: loopback only, everything allowed. production: nothing is allowed to anyone but the owner.',
  ),
  MILLRACE_DB: Type.String({
    description: 'Name of the database for documents; `<name>_log` and `<name>_files` stand beside it.',
    default: 'millrace',
    // MongoDB keeps three for itself, and takes no two names that differ in case alone.
    pattern: '^(?!(?:[Aa][Dd][Mm][Ii][Nn]|[Ll][Oo][Cc][Aa][Ll]|[Cc][Oo][Nn][Ff][Ii][Gg])$)[A-Za-z][A-Za-z0-9_-]{0,31}$',
    expected:
      "must be a letter and up to 31 letters, digits, _ or -, and not admin, local or config, which are MongoDB's own",
  }),
  MILLRACE_FOLDER: Type.String({
    description: 'Folder for the embedded MongoDB and its data.',
    default: '.millrace',
    minLength: 1,
  }),
  MILLRACE_PUBLIC_URL: text('The URL under which clients reach this server, when it differs from the one they ask.', {
    pattern: '^https?://[^/?#@\\s]+$',
    expected: 'must be the address of a server and nothing more, such as https://api.example.org',
  }),
  MILLRACE_CORS_ORIGINS: text(
    'Comma-separated origins that browsers may call from. Development mode adds every loopback origin.',
    { expected: 'must be origins as browsers send them, with commas, such as https://app.example.org' },
  ),
  MILLRACE_TRUST_PROXY: text(
    'Proxies whose X-Forwarded-* headers are believed: a number of hops or comma-separated addresses. None by default.',
    { expected: 'must be a number of hops, or addresses of proxies with commas, such as 10.0.0.1 or 10.0.0.0/8' },
  ),
  MILLRACE_LOG_LEVEL: choice(
    ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'],
    'info',
    'Least severe level that is logged.',
  ),
  MILLRACE_BODY_BYTES: count('Largest JSON body, in bytes.', 1_048_576, 1_024, 16_000_000),
  MILLRACE_BODY_TIMEOUT_MS: time('Time for a JSON body to arrive; then the connection is closed.', 30_000),
  // Node itself gives a request five minutes.
  MILLRACE_HEADER_TIMEOUT_MS: time('Time for request headers; then the connection is closed.', 10_000, 1, 300_000),
  MILLRACE_IDLE_TIMEOUT_MS: time('How long an idle kept-alive connection stays open.', 72_000),
  MILLRACE_CONNECTIONS_PER_ADDRESS: count(
    'Open connections from one address, or one /64 of IPv6; more are closed at once. Trusted proxies have no bound.',
    1_024,
  ),
  MILLRACE_SHUTDOWN_TIMEOUT_MS: time('Time for requests in flight to end at shutdown.', 10_000),
  MILLRACE_QUERY_TIMEOUT_MS: time('Database time of one query.', 5_000),
  MILLRACE_LIST_TIMEOUT_MS: time('Database time of a list without limit.', 60_000),
  MILLRACE_EVENT_LOG_AGE_MS: count('How long events are kept; older positions are refused.', 259_200_000, 1_000),
  MILLRACE_EVENT_LOG_BYTES: count(
    'Size of the event log beyond which its oldest events go, in bytes. The newest 1,000 events are always kept.',
    10_737_418_240,
    1_024,
  ),
  MILLRACE_FILES: Type.String({
    description:
      'Where files are kept: gridfs, or s3://bucket/prefix?endpoint=URL&region=NAME. After a switch, further stores ' +
      'that still hold files follow, separated by blanks.',
    default: 'gridfs',
    minLength: 1,
  }),
  MILLRACE_FILE_BYTES: count('Largest file, in bytes.', 5_368_709_120),
  MILLRACE_REGISTRATION: Type.Optional(
    Type.Unsafe<'open' | 'closed'>({
      type: 'string',
      enum: ['open', 'closed'],
      description: 'Whether anybody may make an account. Development default: open; production default: closed.',
    }),
  ),
  MILLRACE_MASTER_KEY: text(
    'Encrypts the secrets in the database: 32 bytes as base64, or file: and the path of a file with them. After a comma ' +
      'follow older ones, which still open what they sealed.',
    { minLength: 1 },
  ),
  MILLRACE_SMTP_URL: text('Server that mail is sent by; development mode prints mail instead.', {
    pattern: '^smtps?://.+',
    expected: 'must be such as smtps://user:password@mail.example.org, with %40 for @ and %2F for / in the password',
  }),
  MILLRACE_MAIL_FROM: text('Sender of mail; without it millrace@ and the host of MILLRACE_PUBLIC_URL.', {
    pattern: '^[^\\s@]+@[^\\s@]+$',
    expected: 'must be an e-mail address',
  }),
  MILLRACE_OWNER_EMAIL: text('Makes an owner with this address at start, unless there is such an account.', {
    pattern: '^[^\\s@]+@[^\\s@]+$',
    expected: 'must be an e-mail address',
  }),
  MILLRACE_OWNER_PASSWORD_FILE: text("File with the password of MILLRACE_OWNER_EMAIL's owner.", { minLength: 1 }),
  MILLRACE_LIVE_CLIENTS: count('Clients with live data that one process serves; more are sent away.', 50_000),
  MILLRACE_HEARTBEAT_MS: time('How long a connection with live data may be silent before a heartbeat.', 25_000, 100),
  MILLRACE_RATE_ANONYMOUS: rate(
    'Requests a minute from one anonymous address, or one /64 of IPv6. Production default: 600.',
  ),
  MILLRACE_RATE_PRINCIPAL: rate('Requests a minute of one signed-in principal. Production default: 6000.'),
});

export type Mode = 'development' | 'production';

export interface Config {
  readonly mode: Mode;
  readonly logLevel: Static<typeof SETTINGS>['MILLRACE_LOG_LEVEL'];
  readonly folder: string;
  readonly database: { readonly url: string | undefined; readonly binary: string | undefined; readonly name: string };
  readonly server: ServerConfig;
  readonly auth: AuthConfig;
  readonly files: { readonly stores: string; readonly maxFileBytes: number };
  /** How much of the event log is kept. */
  readonly events: { readonly maxAgeMs: number; readonly maxBytes: number };
  readonly realtime: { readonly maxClients: number; readonly heartbeatMs: number };
  readonly collections: { readonly queryTimeoutMs: number; readonly listTimeoutMs: number };
}

export interface AuthConfig {
  readonly registration: 'open' | 'closed';
  /** Keys that seal secrets, or `file:` and where they stand; null for none. */
  readonly masterKey: string | null;
  /** Where people reach this server, as letters and links say it. */
  readonly base: string;
  /** Who signs tokens, as they say it; null for the name that the installation gave itself. */
  readonly issuer: string | null;
  /** Server and sender of mail; null where there is none. */
  readonly mail: { readonly url: string; readonly from: string } | null;
  /** The owner that settings make; null for none. */
  readonly owner: { readonly email: string; readonly passwordFile: string } | null;
}

export interface ServerConfig {
  readonly mode: Mode;
  readonly host: string;
  readonly port: number;
  readonly publicUrl: string | undefined;
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
    const fault = Value.Errors(schema, value)[0]?.message ?? (isAddressFault(name, value) ? '' : undefined);
    if (fault !== undefined) faults.push(`${name}=${shown(name, env[name])}: ${explain(fault, schema)}`);
  }
  if (faults.length > 0) throw new ConfigError(faults);
  const settings = Value.Parse(SETTINGS, values);
  if (settings.MILLRACE_MODE === 'development' && !isLoopback(settings.HOST)) {
    throw new ConfigError([
      `HOST=${settings.HOST}: development mode allows everything to everyone, so it listens on loopback only. ` +
        'Use 127.0.0.1, or set MILLRACE_MODE=production.',
    ]);
  }
  if ((settings.MILLRACE_OWNER_EMAIL === undefined) !== (settings.MILLRACE_OWNER_PASSWORD_FILE === undefined)) {
    throw new ConfigError(['MILLRACE_OWNER_EMAIL and MILLRACE_OWNER_PASSWORD_FILE: set both, or neither']);
  }
  const master = settings.MILLRACE_MASTER_KEY;
  if (master !== undefined && !master.startsWith('file:') && parseMasterKeys(master) === null) {
    throw new ConfigError(['MILLRACE_MASTER_KEY=…: a key is 32 bytes as base64; make one: openssl rand -base64 32']);
  }
  return arrange(settings);
}

function readSetting(raw: string | undefined, schema: TSchema): unknown {
  if (raw === undefined || raw === '') return 'default' in schema ? schema.default : undefined;
  const trimmed = raw.trim();
  return 'type' in schema && schema.type === 'integer' && /^-?\d+$/.test(trimmed) ? Number(trimmed) : trimmed;
}

/** A connection string may hold a password, a key is one. */
function shown(name: string, raw: string | undefined): string {
  return /_(URL|KEY)$/.test(name) ? '…' : (raw ?? '');
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

function arrangeAuth(settings: Static<typeof SETTINGS>): AuthConfig {
  const { HOST, PORT, MILLRACE_MODE: mode, MILLRACE_OWNER_EMAIL: email } = settings;
  const base = settings.MILLRACE_PUBLIC_URL ?? `http://${inUrl(HOST)}:${PORT}`;
  const from = settings.MILLRACE_MAIL_FROM ?? `millrace@${new URL(base).hostname}`;
  const url = settings.MILLRACE_SMTP_URL;
  const passwordFile = settings.MILLRACE_OWNER_PASSWORD_FILE;
  return {
    registration: settings.MILLRACE_REGISTRATION ?? (mode === 'production' ? 'closed' : 'open'),
    masterKey: settings.MILLRACE_MASTER_KEY ?? null,
    base,
    // Not `base`: processes of one installation listen at different ports, and one may change.
    issuer: settings.MILLRACE_PUBLIC_URL ?? null,
    mail: url === undefined ? null : { url, from },
    owner: email === undefined || passwordFile === undefined ? null : { email, passwordFile },
  };
}

function arrange(settings: Static<typeof SETTINGS>): Config {
  const production = settings.MILLRACE_MODE === 'production';
  return {
    mode: settings.MILLRACE_MODE,
    logLevel: settings.MILLRACE_LOG_LEVEL,
    folder: settings.MILLRACE_FOLDER,
    database: { url: settings.MONGODB_URL, binary: settings.MONGOD_BINARY, name: settings.MILLRACE_DB },
    server: {
      mode: settings.MILLRACE_MODE,
      host: settings.HOST,
      port: settings.PORT,
      publicUrl: settings.MILLRACE_PUBLIC_URL,
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
    auth: arrangeAuth(settings),
    files: { stores: settings.MILLRACE_FILES, maxFileBytes: settings.MILLRACE_FILE_BYTES },
    events: { maxAgeMs: settings.MILLRACE_EVENT_LOG_AGE_MS, maxBytes: settings.MILLRACE_EVENT_LOG_BYTES },
    realtime: { maxClients: settings.MILLRACE_LIVE_CLIENTS, heartbeatMs: settings.MILLRACE_HEARTBEAT_MS },
    collections: {
      queryTimeoutMs: settings.MILLRACE_QUERY_TIMEOUT_MS,
      listTimeoutMs: settings.MILLRACE_LIST_TIMEOUT_MS,
    },
  };
}
