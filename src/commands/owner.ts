/**
 * `millrace owner`: makes an owner, or gives an owner a new password: by a link that works once, or at once with a
 * password from a file. It needs access to the database, not to an account. The server may run meanwhile.
 */
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { Check } from 'typebox/schema';
import { checkPassword } from '../auth/accounts/passwords.ts';
import type { Users } from '../auth/accounts/users.ts';
import { SETUP } from '../auth/http/schema.ts';
import { OWNER_ROLES } from '../auth/identity/principal.ts';
import { foldName, type User } from '../auth/identity/user.ts';
import { ITSELF } from '../database/system-collection.ts';
import { ConfigError, type Environment, loadConfig } from '../kernel/config/config.ts';
import type { CommandOutcome } from './commands.ts';
import { withAuth } from './database.ts';

const USAGE = `From a clone npm run owner -- …, from an image or a package millrace owner …

millrace owner --link
  Makes a set-up link, which works once, for 30 minutes. An older link stops working.

millrace owner --email ADDRESS --password-file FILE [--roles owner]
  Makes an owner at once. If the owner exists, it gets this password and these roles, and its sessions end.
  Roles: ${OWNER_ROLES.join(', ')}, several with commas.`;

const OPTIONS = {
  link: { type: 'boolean' },
  email: { type: 'string' },
  'password-file': { type: 'string' },
  roles: { type: 'string', default: 'owner' },
  help: { type: 'boolean', short: 'h' },
} as const;

export async function owner(words: readonly string[], env: Environment): Promise<CommandOutcome> {
  const { values } = parseArgs({ args: [...words], options: OPTIONS });
  const { link, email, 'password-file': file, roles: listed, help } = values;
  if (help || (!link && (email === undefined || file === undefined))) {
    return { text: USAGE, failed: !help && words.length > 0 };
  }
  const config = loadConfig(env);
  const roles = listed.split(',');
  const known: readonly string[] = OWNER_ROLES;
  const other = roles.find((role) => !known.includes(role));
  if (other !== undefined) throw new ConfigError([`--roles ${other}: known are ${known.join(', ')}`]);
  if (email !== undefined && !Check(SETUP.properties.email, email)) {
    throw new ConfigError([`--email ${email}: this is not an e-mail address`]);
  }
  return withAuth(config, async ({ owners, users }) => {
    if (link || email === undefined || file === undefined) return { text: await owners.link(config.auth.base) };
    const password = readFileSync(file, 'utf8').replace(/\r?\n$/, '');
    const there = await users.byName(foldName(email));
    const user =
      there === null
        ? await users.create({ kind: 'owner', email, password, roles }, ITSELF)
        : await mend(users, there, password, roles);
    return { text: `${email} is ${roles.join(' and ')} now (${user._id})` };
  });
}

/** A user's account never becomes an owner's: registering with an address does not prove that it is one's own. */
async function mend(users: Users, there: User, password: string, roles: readonly string[]): Promise<User> {
  if (there.kind !== 'owner') {
    throw new ConfigError([
      `--email ${there.email}: the account with this address belongs to a user; name another address`,
    ]);
  }
  checkPassword(password, there.names);
  const user = await users.change(there._id, { roles, disabled: false }, ITSELF);
  await users.setPassword(user, password, 'password-reset', ITSELF);
  return user;
}
