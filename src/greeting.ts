/**
 * What a person reads at the terminal: the help text, what is wrong with the settings' names, and the summary of the
 * first moments. Pure.
 */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Config, Environment } from './kernel/config/config.ts';
import { SETTINGS } from './kernel/config/settings.ts';
import { nearest } from './kernel/nearest.ts';

const PACKAGE: unknown = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));

export const VERSION =
  PACKAGE !== null && typeof PACKAGE === 'object' && 'version' in PACKAGE ? String(PACKAGE.version) : 'unknown';

/** How to call a command of this program: only a clone has npm's scripts. */
const OWNER = import.meta.url.endsWith('.ts') ? 'npm run owner --' : 'millrace owner';

export const HELP = `Millrace ${VERSION}: a backend you do not have to write.

Usage: npm start        or, once installed as a package: millrace

Without any configuration it runs its own MongoDB and serves http://127.0.0.1:3000.

Commands besides serving (each prints its usage; in a clone: npm run owner -- and so on):
  millrace owner       makes an owner or a set-up link; replaces a lost password
  millrace keys        changes the keys that sign access tokens
  millrace files       moves files from one store to another
  millrace webhooks    shows webhooks as they arrive; lists endpoints, sends deliveries again
  millrace functions   makes, sends and tries functions of yours; shows their runs

Settings are environment variables:
${Object.entries(SETTINGS.properties)
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
  const known = new Map(Object.keys(SETTINGS.properties).map((name) => [name.replace(PREFIX, ''), name]));
  return Object.entries(env).flatMap(([name, value]) => {
    const strange = PREFIX.test(name) && !(name in SETTINGS.properties) && !OF_KUBERNETES.test(`${name}=${value}`);
    if (!strange || value === undefined || value === '') return [];
    const near = nearest(name.replace(PREFIX, ''), [...known.keys()]);
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
  /** What was left behind from before there was an owner, in words; null when nothing. */
  readonly note: string | null;
  /** The link that makes the first owner; null when none is needed. */
  readonly setUp: string | null;
  /** True if every client may do everything, as development mode begins. */
  readonly open: boolean;
}

/** The summary after a successful start. */
export function summary(running: RunningServer): string {
  const { url, config, version, embedded, note, open } = running;
  const { svix } = config.webhooks;
  const allowed = open ? 'everything is allowed' : 'what policies allow';
  const mode = config.mode === 'development' ? `development: ${allowed}, from this machine only` : 'production';
  return `
  Millrace ${VERSION} is running

  URL       ${url}
  Dashboard ${url}/dashboard
  Data      ${embedded ? resolve(config.folder) : `database ${config.database.name}`} (MongoDB ${version}${embedded ? ', embedded' : ''})
  Mode      ${mode}
${svix === null ? '' : `  Webhooks  are sent by Svix at ${svix.url}\n`}${note === null ? '' : `\n  Note      ${note.replaceAll(/[.;] /g, '$&\n            ')}\n`}
${next(running)}

  Ctrl-C ends it.
`;
}

/**
 * What to do first. The commands shown must work: where policies restrict clients, the first step is to become the
 * owner, or to sign in.
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
    return `  Set-up    ${setUp}
            works once, for 30 minutes; ${OWNER} --link makes another
            Open it and become the owner: until there is an owner, nothing is allowed.`;
  return `  Sign in, then send the accessToken of the answer with every request:
    curl ${url}/auth/login ${json} '{"username":"<you>","password":"<your password>"}'
    curl ${url}/api/todos -H 'authorization: Bearer <accessToken>'`;
}
