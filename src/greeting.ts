/**
 * What a person reads at the terminal: the help text and the summary of the first moments. Pure.
 */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { type Config, SETTINGS } from './kernel/config.ts';

const PACKAGE: unknown = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));

export const VERSION =
  PACKAGE !== null && typeof PACKAGE === 'object' && 'version' in PACKAGE ? String(PACKAGE.version) : 'unknown';

export const HELP = `Millrace ${VERSION}: a backend you do not have to write.

Usage: npm start        or, once installed as a package: millrace

Without any configuration it runs its own MongoDB and serves http://127.0.0.1:3000.

Settings are environment variables:
${Object.entries(SETTINGS.properties)
  .map(([name, schema]) => `  ${name.padEnd(34)}${describe(schema)}`)
  .join('\n')}
`;

function describe(schema: object): string {
  const description = 'description' in schema ? String(schema.description) : '';
  return 'default' in schema ? `${description} (${String(schema.default)})` : description;
}

export interface Running {
  readonly url: string;
  readonly config: Config;
  /** Version of the database server. */
  readonly version: string;
  readonly embedded: boolean;
}

/** The summary after a successful start. */
export function summary({ url, config, version, embedded }: Running): string {
  const development = config.mode === 'development';
  const open = development ? 'development: everything is allowed, from this machine only' : 'production';
  return `
  Millrace ${VERSION} is running

  URL       ${url}
  Data      ${embedded ? resolve(config.folder) : `database ${config.database.name}`} (MongoDB ${version}${embedded ? ', embedded' : ''})
  Mode      ${open}

  Try it:
    curl ${url}/api/todos -H 'content-type: application/json' -d '{"title":"Buy milk"}'
    curl ${url}/api/todos
    curl ${url}/readyz
${development ? `    ${url}/examples/board/    in a browser: live data\n` : ''}
  Ctrl-C ends it.
`;
}
