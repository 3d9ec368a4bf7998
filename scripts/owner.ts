/**
 * `npm run owner`: how whoever can reach the database makes somebody an owner: by a link that works once, or at once with
 * a password from a file. The server may run meanwhile.
 */
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { openAuth } from '../src/auth/open-auth.ts';
import { OWNER_ROLES } from '../src/auth/principal.ts';
import { ITSELF } from '../src/database/own-collection.ts';
import { ConfigError, loadConfig } from '../src/kernel/config.ts';
import { MillraceError } from '../src/kernel/errors.ts';
import { withDatabase } from './database.ts';

const USAGE = `npm run owner -- --link
  Makes a set-up link, which works once, for 30 minutes. An older one dies.

npm run owner -- --email ADDRESS --password-file FILE [--roles owner]
  Makes an owner at once. Roles: ${OWNER_ROLES.join(', ')}, several with commas.`;

const OPTIONS = {
  link: { type: 'boolean' },
  email: { type: 'string' },
  'password-file': { type: 'string' },
  roles: { type: 'string', default: 'owner' },
  help: { type: 'boolean' },
} as const;

async function run(): Promise<string> {
  const { link, email, 'password-file': file, roles: listed } = parseArgs({ options: OPTIONS }).values;
  if (!link && (email === undefined || file === undefined)) return USAGE;
  const config = loadConfig(process.env);
  const roles = listed.split(',');
  const known: readonly string[] = OWNER_ROLES;
  const other = roles.find((role) => !known.includes(role));
  if (other !== undefined) throw new ConfigError([`--roles ${other}: known are ${known.join(', ')}`]);
  return withDatabase(config, async (mongo) => {
    const settings = { mode: config.mode, auth: { ...config.auth, owner: null }, onError: console.error };
    const auth = await openAuth(mongo, settings);
    try {
      if (link || email === undefined || file === undefined) return await auth.owners.link(config.auth.base);
      const password = readFileSync(file, 'utf8').replace(/\r?\n$/, '');
      const user = await auth.users.create({ kind: 'owner', email, password, roles }, ITSELF);
      return `${email} is ${roles.join(' and ')} now (${user._id})`;
    } finally {
      await auth.close();
    }
  });
}

try {
  console.log(await run());
  process.exit(0);
} catch (error) {
  const hint = error instanceof MillraceError && error.hint !== undefined ? `\n${error.hint}` : '';
  console.error(error instanceof Error ? `${error.message}${hint}` : String(error));
  process.exit(1);
}
