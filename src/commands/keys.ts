/**
 * `millrace keys rotate`: makes a new key for access tokens, and new secrets for signed file addresses and page
 * cursors. Every process uses them within seconds. What the old ones signed stays valid until its own end. If they have
 * leaked, `--drop-old` ends that at once. The server may run meanwhile.
 */
import { parseArgs } from 'node:util';
import { type Environment, loadConfig } from '../kernel/config/config.ts';
import type { CommandOutcome } from './commands.ts';
import { withAuth } from './database.ts';

const USAGE = `From a clone npm run keys -- …, from an image or a package millrace keys …

millrace keys rotate [--drop-old]
  Makes a new key for access tokens, and new secrets for signed addresses of files and for page
  cursors. What the old ones signed stays valid to its end (a cursor: a day). With --drop-old
  it ends at once: clients need new access tokens (by refresh token), addresses and cursors.`;

export async function keys(words: readonly string[], env: Environment): Promise<CommandOutcome> {
  const { values, positionals } = parseArgs({
    args: [...words],
    options: { 'drop-old': { type: 'boolean', default: false }, help: { type: 'boolean', short: 'h' } },
    allowPositionals: true,
  });
  if (values.help || positionals.join(' ') !== 'rotate')
    return { text: USAGE, failed: !values.help && words.length > 0 };
  return withAuth(loadConfig(env), async (auth) => {
    return { text: `The key ${await auth.rotateKeys(values['drop-old'])} signs now` };
  });
}
