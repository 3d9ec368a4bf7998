/** Command-line arguments of commands that talk to a running Millrace: options, positional arguments, and the server. */
import { parseArgs } from 'node:util';
import type { Environment } from '../../config/config.ts';
import { waitForStopSignal } from '../../lib/wait-for-stop-signal.ts';
import { RemoteServer } from './remote.ts';

export const TEXT_OPTION = { type: 'string' } as const;
export const BOOLEAN_OPTION = { type: 'boolean', default: false } as const;

/** The default server. */
export const DEFAULT_URL = 'http://127.0.0.1:3000';

/** Options of every command that talks to a server. */
export const REMOTE_OPTIONS = {
  url: { type: 'string', default: DEFAULT_URL },
  token: TEXT_OPTION,
  help: { ...BOOLEAN_OPTION, short: 'h' },
} as const;

/** Their part of `--help`. */
export const REMOTE_USAGE = `Options of all commands:
  --url URL        URL of the server; default: ${DEFAULT_URL}
  --token TOKEN    an API key, or the accessToken of POST /auth/login (which expires after ten minutes). Required in
                   production mode`;

type Options = NonNullable<NonNullable<Parameters<typeof parseArgs>[0]>['options']>;

/**
 * Parses the arguments after the name of a command.
 * @param wordNames names of the positional arguments, all required
 * @throws Error with one clear line
 */
export function parseCommandArgs<const T extends Options>(
  args: string[],
  options: T,
  wordNames: readonly string[],
  needed: number,
) {
  const parsed = (() => {
    try {
      return parseArgs({ args, options, allowPositionals: true });
    } catch (error) {
      // Node appends advice on options that are meant as positional arguments.
      const [what] = (error instanceof Error ? error.message : String(error)).split('. To specify');
      throw new Error(`${what}\nSee --help`);
    }
  })();
  const { values, positionals: rest } = parsed;
  const missing = rest.length < needed ? wordNames[rest.length] : undefined;
  if (missing !== undefined) throw new Error(`${missing} is missing; see --help`);
  const surplus = rest[wordNames.length];
  if (surplus !== undefined) throw new Error(`'${surplus}' is not expected here; see --help`);
  return { values, rest };
}

/**
 * Runs the work until it is done, or until Ctrl-C.
 * @param work returns whether it succeeded
 */
export async function withRemote(
  { url, token }: { readonly url: string; readonly token?: string | undefined },
  env: Environment,
  work: (remote: RemoteServer, stop: AbortSignal) => Promise<boolean>,
): Promise<{ readonly failed: boolean }> {
  const remote = new RemoteServer(url, token);
  const stop = new AbortController();
  void waitForStopSignal(env, ['SIGHUP']).then(() => stop.abort());
  // The reader of the output has closed it, such as `head`.
  process.stdout.on('error', () => stop.abort());
  try {
    return { failed: !(await work(remote, stop.signal)) };
  } finally {
    await remote.close();
  }
}
