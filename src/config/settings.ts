/**
 * Every setting of one process: name, description, default and limits. A new setting is one row here and one line in
 * config.ts, which passes it on; then `npm run generate` (scripts/generate.ts) writes `docs/configuration.md` and
 * `.env.example` from this table.
 */
import Type, { type Static } from 'typebox';
import { BASE_PATH_PATTERN } from './base-path.ts';

const text = (description: string, options: object = {}) => Type.Optional(Type.String({ description, ...options }));
const count = (description: string, value: number, minimum = 1, maximum = Number.MAX_SAFE_INTEGER) =>
  Type.Integer({ description, default: value, minimum, maximum });
/** Milliseconds for a timer: a timer with more than 2^31 - 1 fires at once. */
const time = (description: string, value: number, minimum = 1, maximum = 2_147_483_647) =>
  count(description, value, minimum, maximum);
const rate = (description: string) =>
  Type.Optional(Type.Integer({ description: `${description} Development: unlimited.`, minimum: 1 }));
const choice = <const T extends readonly string[]>(values: T, value: T[number], description: string) =>
  Type.Unsafe<T[number]>({ type: 'string', enum: [...values], default: value, description });

/** MongoDB reserves three names, in any letter case: it rejects two names that differ only by case. */
export const DATABASE_NAME_SCHEMA = {
  pattern: '^(?!(?:[Aa][Dd][Mm][Ii][Nn]|[Ll][Oo][Cc][Aa][Ll]|[Cc][Oo][Nn][Ff][Ii][Gg])$)[A-Za-z][A-Za-z0-9_-]{0,31}$',
  expected:
    'must be a letter and up to 31 letters, digits, _ or -, and not admin, local or config, which MongoDB reserves',
};

/** Every setting by the name of its environment variable. */
export const SETTINGS_SCHEMA = Type.Object({
  PORT: count('TCP port to listen on; 0 selects a free port.', 3000, 0, 65_535),
  HOST: Type.String({
    description: 'IP address or host name to listen on. Development mode allows loopback addresses only.',
    default: '127.0.0.1',
    minLength: 1,
    expected: 'must be an IP address or a host name of this machine',
  }),
  MONGODB_URL: text('Connection string of a MongoDB replica set. Without it Millrace starts an embedded MongoDB.', {
    pattern: '^mongodb(\\+srv)?://.+',
    expected: 'must begin with mongodb:// or mongodb+srv://',
  }),
  MONGOD_BINARY: text('Path of the mongod to run when MONGODB_URL is not set.', { minLength: 1 }),
  MILLRACE_MODE: choice(
    ['development', 'production'],
    'development',
    'development: loopback only, everything allowed. production: only administrators have access, until policies allow more.',
  ),
  MILLRACE_DB: text(
    'Name of the database for documents; `<name>_log` and `<name>_files` are created next to it. Default: the database in ' +
      'MONGODB_URL, otherwise millrace.',
    DATABASE_NAME_SCHEMA,
  ),
  MILLRACE_WORKERS: Type.Optional(
    Type.Integer({
      description:
        'Number of processes that share the port. Default: 1 in development mode and with the embedded MongoDB; otherwise ' +
        'the number of processor cores minus one, at most one for each GB of memory, and at most 4.',
      minimum: 1,
      maximum: 64,
    }),
  ),
  MILLRACE_DATA_DIR: Type.String({
    description: 'Folder for the embedded MongoDB and its data.',
    default: '.millrace',
    minLength: 1,
  }),
  MILLRACE_PUBLIC_URL: text(
    'The URL that clients use for this server; it can have a path: https://example.org/backend. In production the server ' +
      'then accepts requests for this host only.',
    {
      pattern: `^https?://[^/?#@\\s]+${BASE_PATH_PATTERN}*$`,
      expected:
        'must be the URL of a server, such as https://api.example.org or https://example.org/backend: without a query, and ' +
        'with only letters, digits, -, ., _ and ~ between the slashes of its path',
    },
  ),
  MILLRACE_BASE_PATH: text(
    'The path below which clients reach this server, if MILLRACE_PUBLIC_URL does not contain it: /backend. The server ' +
      'responds there whether or not a proxy removes the path from requests.',
    {
      pattern: `^(?:/|${BASE_PATH_PATTERN}+/?)$`,
      expected: 'must be a path such as /backend: a slash, and letters, digits, -, ., _ and ~ between slashes',
    },
  ),
  MILLRACE_CORS_ORIGINS: text(
    'Comma-separated origins whose pages can send requests from browsers, also those of apps: capacitor://localhost. ' +
      'Development mode adds every loopback origin.',
    { expected: 'must be comma-separated origins as browsers send them, such as https://app.example.org' },
  ),
  MILLRACE_TRUST_PROXY: text(
    'Proxies whose X-Forwarded-* headers the server trusts: a number of hops or comma-separated IP addresses. None by default.',
    {
      expected: 'must be a number of hops, or comma-separated IP addresses of proxies, such as 10.0.0.1 or 10.0.0.0/8',
    },
  ),
  MILLRACE_EGRESS_ALLOW: text(
    'Private networks that webhooks, identity providers and functions can call, also over http: comma-separated, such as ' +
      '10.0.0.0/8. Public IP addresses need no entry.',
    { expected: 'must be comma-separated IP addresses or networks, such as 10.1.2.3 or 10.0.0.0/8' },
  ),
  MILLRACE_SVIX_URL: text(
    'URL of a Svix server, which then sends webhooks; also set MILLRACE_SVIX_TOKEN. Without the two settings Millrace ' +
      'sends webhooks itself. A Svix server that is not public must be in MILLRACE_EGRESS_ALLOW.',
    {
      pattern: '^https?://[^?#@\\s]+$',
      expected: 'must be the URL of a server, such as https://api.eu.svix.com or http://svix:8071',
    },
  ),
  MILLRACE_SVIX_TOKEN: text('Token for the API of the Svix server.', {
    pattern: '^[\\x21-\\x7e]+$',
    expected: 'must be a token: visible characters without spaces',
  }),
  MILLRACE_LOG_LEVEL: choice(
    ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'],
    'info',
    'Minimum level of log lines.',
  ),
  MILLRACE_MAX_BODY_BYTES: count('Largest JSON body, in bytes.', 1_048_576, 1_024, 16_000_000),
  MILLRACE_BODY_TIMEOUT_MS: time('Time limit for a JSON body to arrive; then the connection is closed.', 30_000),
  // Node allows at most five minutes for a request.
  MILLRACE_HEADER_TIMEOUT_MS: time(
    'Time limit for request headers to arrive; then the connection is closed.',
    10_000,
    1,
    300_000,
  ),
  MILLRACE_KEEP_ALIVE_TIMEOUT_MS: time('How long an idle kept-alive connection stays open.', 72_000),
  MILLRACE_MAX_CONNECTIONS_PER_IP: count(
    'Maximum number of open connections from one IP address, or one /64 of IPv6; more are closed at once. Trusted proxies have no limit.',
    1_024,
  ),
  MILLRACE_SHUTDOWN_TIMEOUT_MS: time('Time limit for running requests to end at shutdown.', 10_000),
  MILLRACE_QUERY_TIMEOUT_MS: time('Time limit of the database for one query.', 5_000),
  MILLRACE_UNLIMITED_LIST_TIMEOUT_MS: time('Time limit of the database for a list without limit.', 60_000),
  MILLRACE_INDEX_ADVICE_AFTER_MS: time('Duration of a list beyond which the server looks for a missing index.', 100),
  MILLRACE_MAX_LIST_BYTES: count(
    'Largest response of a list, in bytes; a longer one is cut off.',
    1_073_741_824,
    1_024,
  ),
  MILLRACE_MAX_EXPAND_BYTES: count(
    'Maximum size of the documents that expand adds to one response, in bytes.',
    67_108_864,
    1_024,
  ),
  MILLRACE_EVENT_RETENTION_MS: count('How long events are kept; older positions are rejected.', 259_200_000, 1_000),
  MILLRACE_MAX_EVENT_LOG_BYTES: count(
    'Size of the event log beyond which its oldest events are deleted, in bytes. The newest 1,000 events are always kept.',
    10_737_418_240,
    1_024,
  ),
  MILLRACE_FILE_STORAGE: Type.String({
    description:
      'Where files are stored: gridfs, or s3://bucket/prefix?endpoint=URL&region=NAME. After a switch, append the ' +
      'stores that still hold files, separated by spaces.',
    default: 'gridfs',
    minLength: 1,
  }),
  MILLRACE_MAX_FILE_BYTES: count('Largest file, in bytes.', 5_368_709_120),
  MILLRACE_REGISTRATION: Type.Optional(
    Type.Unsafe<'open' | 'closed'>({
      type: 'string',
      enum: ['open', 'closed'],
      description: 'Whether anyone can register as a user. Development default: open; production default: closed.',
    }),
  ),
  MILLRACE_REDIRECT_URLS: text(
    'Comma-separated URLs to which a sign-in can redirect; they must match exactly. Native apps have schemes of ' +
      'their own: com.example.app:/signed-in. /admin/settings can add more.',
    { expected: 'must be comma-separated complete URLs, such as https://app.example.org/signed-in' },
  ),
  MILLRACE_MASTER_KEY: text(
    'Key that encrypts the secrets in the database: 32 bytes as base64, or file: and the path of a file with them. Older ' +
      'keys follow after a comma; Millrace still uses them to decrypt what they encrypted.',
    { minLength: 1 },
  ),
  MILLRACE_SMTP_URL: text('SMTP server for e-mails; development mode prints e-mails instead.', {
    pattern: '^smtps?://.+',
    expected: 'must be such as smtps://user:password@mail.example.org, with %40 for @ and %2F for / in the password',
  }),
  MILLRACE_EMAIL_FROM: text('Sender of e-mails. Default: millrace@ and the host of MILLRACE_PUBLIC_URL.', {
    pattern: '^[^\\s@]+@[^\\s@]+$',
    expected: 'must be an e-mail address',
  }),
  MILLRACE_DEFAULT_LOCALE: choice(
    ['en', 'de'],
    'en',
    'Language of e-mails to users whose preferred language neither the user nor the browser specifies.',
  ),
  MILLRACE_MAGIC_LINK: choice(
    ['on', 'off'],
    'on',
    'on: if e-mails can be sent, users can sign in by a link or a code that is sent to their e-mail address. off: this sign-in is disabled.',
  ),
  MILLRACE_ADMIN_EMAIL: text(
    'Creates an administrator with this e-mail address at start, unless this administrator exists already.',
    {
      pattern: '^[^\\s@]+@[^\\s@]+$',
      expected: 'must be an e-mail address',
    },
  ),
  MILLRACE_ADMIN_PASSWORD_FILE: text('File with the password of the administrator of MILLRACE_ADMIN_EMAIL.', {
    minLength: 1,
  }),
  MILLRACE_ADMIN_MFA: choice(
    ['optional', 'required'],
    'optional',
    'required: an administrator without a second factor can only set one up. optional: each administrator decides.',
  ),
  MILLRACE_MAX_LIVE_CLIENTS: count(
    'Maximum number of clients with live data; more are rejected. Workers divide it.',
    50_000,
  ),
  MILLRACE_HEARTBEAT_MS: time('How long a connection with live data is idle before a heartbeat is sent.', 25_000, 100),
  MILLRACE_MAX_MEMORY_BYTES_ALL_CLIENTS: Type.Optional(
    Type.Integer({
      description:
        'Maximum memory held for clients, in bytes: live data (windows, snapshots being sent, send queues) and long ' +
        'responses that are being read; the server rejects requests beyond it. Default: a quarter of the memory that the process can use.',
      minimum: 1_048_576,
    }),
  ),
  MILLRACE_MAX_MEMORY_BYTES_PER_CLIENT: Type.Optional(
    Type.Integer({
      description:
        'Maximum part of MILLRACE_MAX_MEMORY_BYTES_ALL_CLIENTS for one principal, or for one anonymous IP address or /64 of IPv6, in bytes. ' +
        'Production default: a quarter of MILLRACE_MAX_MEMORY_BYTES_ALL_CLIENTS, at most 64 MiB. Development: no limit for each client.',
      minimum: 65_536,
    }),
  ),
  MILLRACE_RATE_LIMIT_ANONYMOUS: rate(
    'Requests and subscriptions a minute from one anonymous IP address, or one /64 of IPv6. Production default: 600.',
  ),
  MILLRACE_RATE_LIMIT_PRINCIPAL: rate(
    'Requests and subscriptions a minute of one signed-in principal. Production default: 6000.',
  ),
  MILLRACE_PLUGINS_DIR: Type.String({
    description:
      'Comma-separated folders of plugins: each folder in them that has a plugin.json is a plugin. A change takes effect at ' +
      'once. A missing folder contains no plugins.',
    default: 'plugins',
    minLength: 1,
  }),
  MILLRACE_FUNCTIONS: choice(
    ['on', 'jitless', 'off'],
    'on',
    'on: functions of plugins run in a separate process. jitless: without the JIT compiler of V8, slower and with a smaller ' +
      'attack surface. off: no function runs, and calls get 503.',
  ),
  MILLRACE_QUOTA_DOCUMENT_COUNT_PER_USER: count(
    'Maximum number of documents that one user or key has created; 0 means no limit.',
    0,
    0,
  ),
  MILLRACE_QUOTA_FILE_COUNT_PER_USER: count(
    'Maximum number of files that one user or key has created; 0 means no limit.',
    0,
    0,
  ),
  MILLRACE_QUOTA_FILE_BYTES_PER_USER: count(
    'Maximum number of bytes in all files that one user or key has created; 0 means no limit.',
    0,
    0,
  ),
});

export type Settings = Static<typeof SETTINGS_SCHEMA>;
