/**
 * The words after the name of a command that talks to a running Millrace: options, what stands besides them, and the server
 * that is meant. Not here: what each command does with them.
 */
import { parseArgs } from 'node:util';
import type { Environment } from '../../kernel/config/config.ts';
import { onStopSignal } from '../../kernel/stop-signal.ts';
import { Remote } from './remote.ts';

export const TEXT_OPTION = { type: 'string' } as const;
export const YES_OPTION = { type: 'boolean', default: false } as const;

/** Where a server is asked if no other one is named. */
export const DEFAULT_URL = 'http://127.0.0.1:3000';

/** Options of every command that talks to a server. */
export const REMOTE_OPTIONS = {
  url: { type: 'string', default: DEFAULT_URL },
  token: TEXT_OPTION,
  help: { ...YES_OPTION, short: 'h' },
} as const;

/** What `--help` says of them. */
export const REMOTE_USAGE = `All of them:
  --url URL        where Millrace runs; ${DEFAULT_URL} without it
  --token TOKEN    an API key, or the accessToken of POST /auth/login (which ends after ten minutes). Production
                   mode needs one`;

type Options = NonNullable<NonNullable<Parameters<typeof parseArgs>[0]>['options']>;

/**
 * Reads the words after the name of a command.
 * @param places what stands there besides options; so many of them must
 * @throws Error of one clear line
 */
export function readWords<const T extends Options>(
  args: string[],
  options: T,
  places: readonly string[],
  needed: number,
) {
  const parsed = (() => {
    try {
      return parseArgs({ args, options, allowPositionals: true });
    } catch (error) {
      // Node goes on with advice for an option that is meant as a word.
      const [what] = (error instanceof Error ? error.message : String(error)).split('. To specify');
      throw new Error(`${what}\n--help shows what there is`);
    }
  })();
  const { values, positionals: rest } = parsed;
  const missing = rest.length < needed ? places[rest.length] : undefined;
  if (missing !== undefined) throw new Error(`${missing} is missing; --help shows what there is`);
  const surplus = rest[places.length];
  if (surplus !== undefined) throw new Error(`'${surplus}' has no meaning here; --help shows what there is`);
  return { values, rest };
}

/**
 * Calls the server until the work is done, or until Ctrl-C.
 * @param work tells whether it succeeded
 */
export async function withRemote(
  { url, token }: { readonly url: string; readonly token?: string | undefined },
  env: Environment,
  work: (remote: Remote, stop: AbortSignal) => Promise<boolean>,
): Promise<{ readonly failed: boolean }> {
  const remote = new Remote(url, token);
  const stop = new AbortController();
  void onStopSignal(env, ['SIGHUP']).then(() => stop.abort());
  // The reader of the output has gone, such as `head`.
  process.stdout.on('error', () => stop.abort());
  try {
    return { failed: !(await work(remote, stop.signal)) };
  } finally {
    await remote.close();
  }
}
