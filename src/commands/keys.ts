/**
 * `millrace keys rotate`: another key signs access tokens from now on, in every process within a second. Tokens of the
 * old key live to their end, unless it leaked: `--drop-old` ends them at once. The server may run meanwhile.
 */
import { parseArgs } from 'node:util';
import { openAuth } from '../auth/open-auth.ts';
import { loadConfig } from '../kernel/config.ts';
import type { Environment, Outcome } from './commands.ts';
import { withDatabase } from './database.ts';

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
  const config = loadConfig(env);
  return withDatabase(config, async (mongo) => {
    const settings = { mode: config.mode, auth: { ...config.auth, owner: null }, onError: console.error };
    const auth = await openAuth(mongo, settings);
    try {
      return { text: `The key ${await auth.rotateKeys(values['drop-old'])} signs now` };
    } finally {
      await auth.close();
    }
  });
}
