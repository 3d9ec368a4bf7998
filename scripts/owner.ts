/**
 * `npm run owner`: how whoever can reach the database makes somebody an owner, or mends an owner's lost password: by a link
 * that works once, or at once with a password from a file. The server may run meanwhile.
 */
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { Value } from 'typebox/value';
import { openAuth } from '../src/auth/open-auth.ts';
import { checkPassword } from '../src/auth/passwords.ts';
import { OWNER_ROLES } from '../src/auth/principal.ts';
import { SETUP } from '../src/auth/schema.ts';
import { foldName, type User } from '../src/auth/user.ts';
import type { Users } from '../src/auth/users.ts';
import { ITSELF } from '../src/database/own-collection.ts';
import { ConfigError, loadConfig } from '../src/kernel/config.ts';
import { MillraceError } from '../src/kernel/errors.ts';
import { withDatabase } from './database.ts';

const USAGE = `npm run owner -- --link
  Makes a set-up link, which works once, for 30 minutes. An older one dies.

npm run owner -- --email ADDRESS --password-file FILE [--roles owner]
  Makes an owner at once. One that is there gets this password and these roles, and its sessions end.
  Roles: ${OWNER_ROLES.join(', ')}, several with commas.`;

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
  if (email !== undefined && !Value.Check(SETUP.properties.email, email)) {
    throw new ConfigError([`--email ${email}: this is no e-mail address`]);
  }
  return withDatabase(config, async (mongo) => {
    const settings = { mode: config.mode, auth: { ...config.auth, owner: null }, onError: console.error };
    const auth = await openAuth(mongo, settings);
    try {
      if (link || email === undefined || file === undefined) return await auth.owners.link(config.auth.base);
      const password = readFileSync(file, 'utf8').replace(/\r?\n$/, '');
      const there = await auth.users.byName(foldName(email));
      const user =
        there === null
          ? await auth.users.create({ kind: 'owner', email, password, roles }, ITSELF)
          : await mend(auth.users, there, password, roles);
      return `${email} is ${roles.join(' and ')} now (${user._id})`;
    } finally {
      await auth.close();
    }
  });
}

/** Whoever registered with an address has not proved that it is theirs: a user's account never becomes an owner's. */
async function mend(users: Users, there: User, password: string, roles: readonly string[]): Promise<User> {
  if (there.kind !== 'owner') {
    throw new ConfigError([`--email ${there.email}: the account of this name is a user's; name another address`]);
  }
  checkPassword(password, there.names);
  const user = await users.change(there._id, { roles, disabled: false }, ITSELF);
  await users.setPassword(user, password, 'password-reset', ITSELF);
  return user;
}

try {
  console.log(await run());
  process.exit(0);
} catch (error) {
  const hint = error instanceof MillraceError && error.hint !== undefined ? `\n${error.hint}` : '';
  console.error(error instanceof Error ? `${error.message}${hint}` : String(error));
  process.exit(1);
}
