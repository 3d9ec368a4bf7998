/**
 * `millrace admin`: creates an administrator, or resets the password of one: with a link that works once, or with a password from a
 * file. It needs access to the database, not a user. The server may run meanwhile.
 */
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { Check } from 'typebox/schema';
import { SETUP_BODY } from '../auth/http/request-schemas.ts';
import { ADMIN_ROLES } from '../auth/identity/principal.ts';
import { normalizeSignInName, type User } from '../auth/identity/user.ts';
import { checkPasswordStrength } from '../auth/passwords/passwords.ts';
import type { Users } from '../auth/users/users.ts';
import { ConfigError, type Environment, loadConfig } from '../config/config.ts';
import { SYSTEM_CHANGE_STAMP } from '../database/system-collection.ts';
import type { CommandOutcome } from './commands.ts';
import { withAuth } from './with-database.ts';

const USAGE = `From a clone npm run admin -- …, from an image or a package millrace admin …

millrace admin --setup-link
  Makes a set-up link, which works once, for 30 minutes. An older link stops working.

millrace admin --email EMAIL --password-file FILE [--roles owner]
  Makes an administrator at once. If the administrator exists, it gets this password and these roles, and its sessions end.
  Roles: ${ADMIN_ROLES.join(', ')}, several with commas.`;

const OPTIONS = {
  'setup-link': { type: 'boolean' },
  email: { type: 'string' },
  'password-file': { type: 'string' },
  roles: { type: 'string', default: 'owner' },
  help: { type: 'boolean', short: 'h' },
} as const;

export async function admin(words: readonly string[], env: Environment): Promise<CommandOutcome> {
  const { values } = parseArgs({ args: [...words], options: OPTIONS });
  const { 'setup-link': link, email, 'password-file': file, roles: listed, help } = values;
  if (help || (!link && (email === undefined || file === undefined))) {
    return { text: USAGE, failed: !help && words.length > 0 };
  }
  const config = loadConfig(env);
  const roles = listed.split(',');
  const known: readonly string[] = ADMIN_ROLES;
  const other = roles.find((role) => !known.includes(role));
  if (other !== undefined) throw new ConfigError([`--roles ${other}: must be one of ${known.join(', ')}`]);
  if (email !== undefined && !Check(SETUP_BODY.properties.email, email)) {
    throw new ConfigError([`--email ${email}: not an e-mail address`]);
  }
  return withAuth(config, async ({ firstAdmin, users }) => {
    if (link || email === undefined || file === undefined) return { text: await firstAdmin.link(config.auth.base) };
    const password = readFileSync(file, 'utf8').replace(/\r?\n$/, '');
    const there = await users.byName(normalizeSignInName(email));
    const user =
      there === null
        ? await users.create({ kind: 'admin', email, password, roles }, SYSTEM_CHANGE_STAMP)
        : await fix(users, there, password, roles);
    return { text: `${email} is now an administrator with the role ${roles.join(' and ')} (${user._id})` };
  });
}

/** A user never becomes an administrator: registration with an e-mail address does not prove ownership of it. */
async function fix(users: Users, there: User, password: string, roles: readonly string[]): Promise<User> {
  if (there.kind !== 'admin') {
    throw new ConfigError([
      `--email ${there.email}: this e-mail address belongs to a user who is not an administrator; use another one`,
    ]);
  }
  checkPasswordStrength(password, there.names);
  const user = await users.change(there._id, { roles, disabled: false }, SYSTEM_CHANGE_STAMP);
  await users.setPassword(user, password, 'password-reset', SYSTEM_CHANGE_STAMP);
  return user;
}
