/**
 * Every setting of one process: name, description, default and bounds. A new setting is one row here and one
 * line in config.ts, which hands it to the part that needs it; then `npm run generate` (scripts/generate.ts) writes
 * `docs/configuration.md` and `.env.example` from this table. Not here: how the environment is read and checked (config.ts).
 */
import Type, { type Static } from 'typebox';
import { BASE_PATH } from './base-path.ts';

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

/** MongoDB keeps three names for itself, in any letter case: it refuses two names that differ only by case. */
export const DATABASE_NAME = {
  pattern: '^(?!(?:[Aa][Dd][Mm][Ii][Nn]|[Ll][Oo][Cc][Aa][Ll]|[Cc][Oo][Nn][Ff][Ii][Gg])$)[A-Za-z][A-Za-z0-9_-]{0,31}$',
  expected:
    "must be a letter and up to 31 letters, digits, _ or -, and not admin, local or config, which are MongoDB's own",
};

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
  MILLRACE_DB: text(
    'Name of the database for documents; `<name>_log` and `<name>_files` are kept next to it. Default: the one that ' +
      'MONGODB_URL names, else millrace.',
    DATABASE_NAME,
  ),
  MILLRACE_FOLDER: Type.String({
    description: 'Folder for the embedded MongoDB and its data.',
    default: '.millrace',
    minLength: 1,
  }),
  MILLRACE_PUBLIC_URL: text(
    'The URL under which clients reach this server, which may have a path: https://example.org/backend. In production the ' +
      'server then answers under this host only.',
    {
      pattern: `^https?://[^/?#@\\s]+${BASE_PATH}*$`,
      expected:
        'must be the URL of a server, such as https://api.example.org or https://example.org/backend: without a query, and ' +
        'with only letters, digits, -, ., _ and ~ between the slashes of its path',
    },
  ),
  MILLRACE_BASE_PATH: text(
    'The path below which clients reach this server, where MILLRACE_PUBLIC_URL does not name it: /backend. The server ' +
      'answers there whether or not a proxy removes the path from requests.',
    {
      pattern: `^(?:/|${BASE_PATH}+/?)$`,
      expected: 'must be a path such as /backend: a slash, and letters, digits, -, ., _ and ~ between slashes',
    },
  ),
  MILLRACE_CORS_ORIGINS: text(
    'Comma-separated origins that browsers may call from, those of apps too: capacitor://localhost. Development mode adds ' +
      'every loopback origin.',
    { expected: 'must be origins as browsers send them, with commas, such as https://app.example.org' },
  ),
  MILLRACE_TRUST_PROXY: text(
    'Proxies whose X-Forwarded-* headers are believed: a number of hops or comma-separated addresses. None by default.',
    { expected: 'must be a number of hops, or addresses of proxies with commas, such as 10.0.0.1 or 10.0.0.0/8' },
  ),
  MILLRACE_EGRESS_ALLOW: text(
    'Networks that this server may call besides public addresses, by http also: comma-separated, such as 10.0.0.0/8. It ' +
      'concerns addresses that data names, such as identity providers.',
    { expected: 'must be addresses or networks with commas, such as 10.1.2.3 or 10.0.0.0/8' },
  ),
  MILLRACE_SVIX_URL: text(
    'Address of a Svix server, which then sends webhooks, with MILLRACE_SVIX_TOKEN. Without both Millrace sends them ' +
      'itself. An address that is not public must be in MILLRACE_EGRESS_ALLOW.',
    {
      pattern: '^https?://[^?#@\\s]+$',
      expected: 'must be the address of a server, such as https://api.eu.svix.com or http://svix:8071',
    },
  ),
  MILLRACE_SVIX_TOKEN: text('Token for the API of the Svix server.', {
    pattern: '^[\\x21-\\x7e]+$',
    expected: 'must be a token: visible characters without blanks',
  }),
  MILLRACE_LOG_LEVEL: choice(
    ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'],
    'info',
    'Least severe level that is logged.',
  ),
  MILLRACE_BODY_BYTES: count('Largest JSON body, in bytes.', 1_048_576, 1_024, 16_000_000),
  MILLRACE_BODY_TIMEOUT_MS: time('Time for a JSON body to arrive; then the connection is closed.', 30_000),
  // Node itself allows at most five minutes for a request.
  MILLRACE_HEADER_TIMEOUT_MS: time('Time for request headers; then the connection is closed.', 10_000, 1, 300_000),
  MILLRACE_IDLE_TIMEOUT_MS: time('How long an idle kept-alive connection stays open.', 72_000),
  MILLRACE_CONNECTIONS_PER_ADDRESS: count(
    'Open connections from one address, or one /64 of IPv6; more are closed at once. Trusted proxies have no bound.',
    1_024,
  ),
  MILLRACE_SHUTDOWN_TIMEOUT_MS: time('Time for requests under way to end at shutdown.', 10_000),
  MILLRACE_QUERY_TIMEOUT_MS: time('Most time that the database may take for one query.', 5_000),
  MILLRACE_LIST_TIMEOUT_MS: time('Most time that the database may take for a list without limit.', 60_000),
  MILLRACE_SLOW_LIST_MS: time('A list that takes longer is checked for a missing index.', 100),
  MILLRACE_LIST_BYTES: count('Largest answer of a list, in bytes; a longer one is cut off.', 1_073_741_824, 1_024),
  MILLRACE_EXPAND_BYTES: count('What expand may add to one answer, in bytes.', 67_108_864, 1_024),
  MILLRACE_EVENT_LOG_AGE_MS: count('How long events are kept; older positions are refused.', 259_200_000, 1_000),
  MILLRACE_EVENT_LOG_BYTES: count(
    'Size of the event log beyond which its oldest events are deleted, in bytes. The newest 1,000 events are always kept.',
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
  MILLRACE_REDIRECTS: text(
    'Comma-separated addresses that a sign-in by an identity provider may end at, exactly as they are. Native apps have ' +
      'schemes of their own: com.example.app:/signed-in. /admin/settings can name more.',
    { expected: 'must be whole addresses with commas, such as https://app.example.org/signed-in' },
  ),
  MILLRACE_MASTER_KEY: text(
    'Encrypts the secrets in the database: 32 bytes as base64, or file: and the path of a file with them. After a comma ' +
      'follow older ones, which still open what they sealed.',
    { minLength: 1 },
  ),
  MILLRACE_SMTP_URL: text('SMTP server for mail; development mode prints mail instead.', {
    pattern: '^smtps?://.+',
    expected: 'must be such as smtps://user:password@mail.example.org, with %40 for @ and %2F for / in the password',
  }),
  MILLRACE_MAIL_FROM: text('Sender of mail; without it millrace@ and the host of MILLRACE_PUBLIC_URL.', {
    pattern: '^[^\\s@]+@[^\\s@]+$',
    expected: 'must be an e-mail address',
  }),
  MILLRACE_LANGUAGE: choice(
    ['en', 'de'],
    'en',
    'Language of letters to people of whom neither the account nor the browser says which one they prefer.',
  ),
  MILLRACE_SIGN_IN_LINK: choice(
    ['on', 'off'],
    'on',
    'on: people can sign in by a link or a code that is sent to their address, where mail can be sent. off: they cannot.',
  ),
  MILLRACE_OWNER_EMAIL: text('Makes an owner with this address at start, unless there is such an account.', {
    pattern: '^[^\\s@]+@[^\\s@]+$',
    expected: 'must be an e-mail address',
  }),
  MILLRACE_OWNER_PASSWORD_FILE: text("File with the password of MILLRACE_OWNER_EMAIL's owner.", { minLength: 1 }),
  MILLRACE_OWNER_MFA: choice(
    ['optional', 'required'],
    'optional',
    'required: an owner without a second factor can only set one up. optional: owners decide for themselves.',
  ),
  MILLRACE_LIVE_CLIENTS: count('Clients with live data that one process serves; more are refused.', 50_000),
  MILLRACE_HEARTBEAT_MS: time('How long a connection with live data may be silent before a heartbeat.', 25_000, 100),
  MILLRACE_HELD_BYTES: Type.Optional(
    Type.Integer({
      description:
        'Memory for what is held for clients, in bytes: live data (windows, snapshots on their way, send queues) and ' +
        'long answers that are being read; what goes beyond is refused. Default: a quarter of the memory that the process may use.',
      minimum: 1_048_576,
    }),
  ),
  MILLRACE_HELD_BYTES_PER_CLIENT: Type.Optional(
    Type.Integer({
      description:
        'The part of MILLRACE_HELD_BYTES for one principal, or for one anonymous address or /64 of IPv6, in bytes. ' +
        'Production default: a quarter of MILLRACE_HELD_BYTES, at most 64 MiB. Development: no bound of its own.',
      minimum: 65_536,
    }),
  ),
  MILLRACE_RATE_ANONYMOUS: rate(
    'Requests and subscriptions a minute from one anonymous address, or one /64 of IPv6. Production default: 600.',
  ),
  MILLRACE_RATE_PRINCIPAL: rate(
    'Requests and subscriptions a minute of one signed-in principal. Production default: 6000.',
  ),
  MILLRACE_PLUGINS: Type.String({
    description:
      'Folders of plugins, with commas: each folder in them that has a plugin.json is one. A change is in force at once. ' +
      'A folder that is missing holds none.',
    default: 'plugins',
    minLength: 1,
  }),
  MILLRACE_FUNCTIONS: choice(
    ['on', 'jitless', 'off'],
    'on',
    'on: functions of plugins are run, in a process apart. jitless: without the compiler of V8, slower and with less to ' +
      'attack. off: none is run, and calls are answered with 503.',
  ),
  MILLRACE_QUOTA_DOCUMENTS: count('Documents that one account or key may have made; 0 is no bound.', 0, 0),
  MILLRACE_QUOTA_FILES: count('Files that one account or key may have made; 0 is no bound.', 0, 0),
  MILLRACE_QUOTA_BYTES: count('Bytes of all files that one account or key may have made; 0 is no bound.', 0, 0),
});

export type Settings = Static<typeof SETTINGS>;
