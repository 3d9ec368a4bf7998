/**
 * `millrace signing-keys rotate`: creates a new key for access tokens, and new secrets for signed file URLs and page cursors. Every
 * process uses them within seconds. What the old ones signed stays valid until it expires, or with `--drop-old`, after a leak,
 * becomes invalid at once. The server can run meanwhile.
 */
import { parseArgs } from 'node:util';
import { type Environment, loadConfig } from '../config/config.ts';
import type { CommandOutcome } from './commands.ts';
import { withAuth } from './with-database.ts';

const USAGE = `From a clone npm run signing-keys -- …, from an image or a package millrace signing-keys …

millrace signing-keys rotate [--drop-old]
  Makes a new key for access tokens, and new secrets for signed URLs of files and for page
  cursors. What the old ones signed stays valid to its end (a cursor: a day). With --drop-old
  it ends at once: clients need new access tokens (by refresh token), addresses and cursors.`;

export async function signingKeys(words: readonly string[], env: Environment): Promise<CommandOutcome> {
  const { values, positionals } = parseArgs({
    args: [...words],
    options: { 'drop-old': { type: 'boolean', default: false }, help: { type: 'boolean', short: 'h' } },
    allowPositionals: true,
  });
  if (values.help || positionals.join(' ') !== 'rotate')
    return { text: USAGE, failed: !values.help && words.length > 0 };
  return withAuth(loadConfig(env), async (auth) => {
    return { text: `The active signing key is now ${await auth.rotateKeys(values['drop-old'])}` };
  });
}
