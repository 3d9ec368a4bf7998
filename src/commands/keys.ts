/**
 * `millrace keys rotate`: another key signs access tokens from now on, in every process within a second. Tokens of the
 * old key live to their end, unless it leaked: `--drop-old` ends them at once. The server may run meanwhile.
 */
import { parseArgs } from 'node:util';
import { type Environment, loadConfig } from '../kernel/config.ts';
import type { Outcome } from './commands.ts';
import { withAuth } from './database.ts';

const USAGE = `From a clone npm run keys -- …, from an image or a package millrace keys …

millrace keys rotate [--drop-old]
  Makes a new key for access tokens. The old one verifies until its last token is dead;
  with --drop-old it goes at once, and everybody renews with their refresh token.`;

export async function keys(words: readonly string[], env: Environment): Promise<Outcome> {
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
