/**
 * What a person reads at the terminal: the help text, what is wrong with the settings' names, and the summary of the
 * first moments. Pure.
 */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { type Config, ConfigError, type Environment } from './config/config.ts';
import { SETTINGS_SCHEMA } from './config/settings.ts';
import { nearestName } from './lib/did-you-mean.ts';

const PACKAGE: unknown = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));

export const VERSION =
  PACKAGE !== null && typeof PACKAGE === 'object' && 'version' in PACKAGE ? String(PACKAGE.version) : 'unknown';

/** How to call a command of this program: only a clone has npm's scripts. */
const ADMIN = import.meta.url.endsWith('.ts') ? 'npm run admin --' : 'millrace admin';

export const HELP = `Millrace ${VERSION}: a backend you do not have to write.

Usage: npm start        or, once installed as a package: millrace

Without any configuration it runs its own MongoDB and serves http://127.0.0.1:3000.

Other commands (each prints its usage; in a clone: npm run admin -- and so on):
  millrace admin         creates an administrator or a setup link; resets a lost password
  millrace signing-keys  rotates the keys that sign access tokens
  millrace files         moves files from one store to another
  millrace webhooks      receives webhooks locally; lists endpoints, resends deliveries
  millrace functions     creates, pushes and dry-runs functions; shows their runs

Settings are environment variables:
${Object.entries(SETTINGS_SCHEMA.properties)
  .map(([name, schema]) => `  ${name.padEnd(34)}${describe(schema)}`)
  .join('\n')}
`;

function describe(schema: object): string {
  const description = 'description' in schema ? String(schema.description) : '';
  return 'default' in schema ? `${description} (${String(schema.default)})` : description;
}

const PREFIX = /^MILLRACE_/;
/**
 * What Kubernetes puts into the environment of every container when a service is named like this program, or
 * `millrace-mongo`.
 */
const OF_KUBERNETES = /^MILLRACE_(?:\w+_)?(?:SERVICE_(?:HOST|PORT)|PORT_\d|PORT=[a-z]+:)/;

/**
 * Warnings about variables that look like settings and are none: a misspelt setting would silently have no effect. The
 * program starts all the same: the variable may be a setting of a newer version.
 * @param env environment variables; their values are not printed
 */
export function unknownSettings(env: Environment): string[] {
  const known = new Map(Object.keys(SETTINGS_SCHEMA.properties).map((name) => [name.replace(PREFIX, ''), name]));
  return Object.entries(env).flatMap(([name, value]) => {
    const strange =
      PREFIX.test(name) && !(name in SETTINGS_SCHEMA.properties) && !OF_KUBERNETES.test(`${name}=${value}`);
    if (!strange || value === undefined || value === '') return [];
    const near = nearestName(name.replace(PREFIX, ''), [...known.keys()]);
    const hint = near === null ? '--help lists the settings.' : `Did you mean ${known.get(near)}?`;
    return [`${name} is not a setting and has no effect. ${hint}`];
  });
}

export interface RunningServer {
  readonly url: string;
  readonly config: Config;
  /** Version of the database server. */
  readonly version: string;
  readonly embedded: boolean;
  /** What was created before there was an administrator, in words; null when nothing. */
  readonly note: string | null;
  /** The link that creates the first administrator; null when none is needed. */
  readonly setUp: string | null;
  /** True if every client may do everything, as development mode begins. */
  readonly open: boolean;
}

/** The summary after a successful start. */
export function startupSummary(running: RunningServer): string {
  const { url, config, version, embedded, note, open } = running;
  const { svix } = config.webhooks;
  const allowed = open ? 'all clients have full access' : 'access by policies';
  const mode = config.mode === 'development' ? `development: ${allowed}, from this machine only` : 'production';
  return `
  Millrace ${VERSION} is running

  URL       ${url}
  Dashboard ${url}/dashboard
  Data      ${embedded ? resolve(config.folder) : `database ${config.database.name}`} (MongoDB ${version}${embedded ? ', embedded' : ''})
  Mode      ${mode}
${svix === null ? '' : `  Webhooks  sent by Svix at ${svix.url}\n`}${note === null ? '' : `\n  Note      ${note.replaceAll(/[.;] /g, '$&\n            ')}\n`}
${next(running)}

  Press Ctrl-C to stop.
`;
}

/**
 * What to do first. The commands shown must work: where policies restrict clients, the first step is to create the
 * first administrator, or to sign in.
 */
function next({ url, open, setUp }: RunningServer): string {
  const json = "-H 'content-type: application/json' -d";
  if (open)
    return `  Try it:
    curl ${url}/api/todos ${json} '{"title":"Buy milk"}'
    curl ${url}/api/todos
    curl ${url}/readyz
    ${url}/examples/board/    in a browser: live data`;
  if (setUp !== null)
    return `  Setup     ${setUp}
            Open it to create the first administrator. Until then no policy applies.
            The link works once, for 30 minutes; ${ADMIN} --setup-link creates another one.`;
  return `  Sign in, then send the accessToken of the response with every request:
    curl ${url}/auth/login ${json} '{"username":"<you>","password":"<your password>"}'
    curl ${url}/api/todos -H 'authorization: Bearer <accessToken>'`;
}

/** The error of a port or an address on which the server cannot listen, in words; other errors as they are. */
export function cannotListen(error: unknown, { host, port }: Config['server']): unknown {
  if (!(error instanceof Error && 'syscall' in error)) return error;
  if ('code' in error && error.code === 'EADDRINUSE') {
    return new ConfigError([
      `PORT=${port}: another program listens there. Stop it, or choose another port: PORT=${port + 1} npm start`,
    ]);
  }
  return new ConfigError([`HOST=${host}, PORT=${port}: cannot listen there (${error.message})`]);
}
