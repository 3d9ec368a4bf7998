/**
 * `npm run keys -- rotate`: another key signs access tokens from now on, in every process within a second. Tokens of the
 * old key live to their end, unless it leaked: `--drop-old` ends them at once. The server may run meanwhile.
 */
import { parseArgs } from 'node:util';
import { openAuth } from '../src/auth/open-auth.ts';
import { loadConfig } from '../src/kernel/config.ts';
import { withDatabase } from './database.ts';

const USAGE = `npm run keys -- rotate [--drop-old]
  Makes a new key for access tokens. The old one verifies until its last token is dead;
  with --drop-old it goes at once, and everybody renews with their refresh token.`;

async function run(): Promise<string> {
  const { values, positionals } = parseArgs({
    options: { 'drop-old': { type: 'boolean', default: false }, help: { type: 'boolean' } },
    allowPositionals: true,
  });
  if (values.help || positionals[0] !== 'rotate') return USAGE;
  const config = loadConfig(process.env);
  return withDatabase(config, async (mongo) => {
    const settings = { mode: config.mode, auth: { ...config.auth, owner: null }, onError: console.error };
    const auth = await openAuth(mongo, settings);
    try {
      return `The key ${await auth.rotateKeys(values['drop-old'])} signs now`;
    } finally {
      await auth.close();
    }
  });
}

try {
  console.log(await run());
  process.exit(0);
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error));
  process.exit(1);
}
