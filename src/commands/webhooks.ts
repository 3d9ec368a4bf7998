/**
 * `millrace webhooks`: a receiver for development, and endpoints and deliveries of a running server. It needs no access to the
 * database: it asks the server over HTTP. Not here: what each command does (webhooks/).
 */
import type { Environment } from '../kernel/config/config.ts';
import { isPlain } from '../kernel/objects.ts';
import type { CommandOutcome } from './commands.ts';
import {
  REMOTE_OPTIONS,
  REMOTE_USAGE,
  readWords,
  TEXT_OPTION,
  withRemote,
  YES_OPTION,
} from './remote/command-words.ts';
import { replay, resend } from './webhooks/again.ts';
import { endpointTable } from './webhooks/endpoint-table.ts';
import { listen } from './webhooks/listen.ts';

const USAGE = `From a clone npm run webhooks -- …, from an image or a package millrace webhooks …

millrace webhooks listen [PORT] [--types LIST] [--filter JSON] [--forward URL] [--secret TEXT] [--verbose]
  Receives deliveries at http://127.0.0.1:PORT/ (8080), and shows each with its signature verified. It makes an
  endpoint that leads there; Ctrl-C removes it.
  --types LIST     which events, with commas, such as 'todos.*,system.file.created'; all of them without it
  --filter JSON    only those of documents that match, such as '{"done":true}'
  --forward URL    sends each delivery on to your program, as it came, and answers what that answers
  --secret TEXT    signs with this secret, whsec_ and base64, and not with a new one
  --verbose        shows headers and body, too

millrace webhooks endpoints
  A table of the endpoints and of how they are.

millrace webhooks resend DELIVERY
  Sends a delivery again, and waits for the answer.

millrace webhooks replay ENDPOINT --since POSITION [--until POSITION] [--types LIST]
  Sends the events of the log after a position, such as 3-1042, that match the endpoint.

${REMOTE_USAGE}`;

const TYPES = { types: TEXT_OPTION } as const;
const LISTEN = {
  ...REMOTE_OPTIONS,
  ...TYPES,
  filter: TEXT_OPTION,
  forward: TEXT_OPTION,
  secret: TEXT_OPTION,
  verbose: { ...YES_OPTION, short: 'v' },
} as const;
const REPLAY = { ...REMOTE_OPTIONS, ...TYPES, since: TEXT_OPTION, until: TEXT_OPTION } as const;

const NAMES = ['listen', 'endpoints', 'resend', 'replay'] as const;
const PORT = '8080';

export async function webhooks(words: readonly string[], env: Environment): Promise<CommandOutcome> {
  const [first, ...args] = words;
  const name = NAMES.find((one) => one === first);
  if (words.includes('--help') || words.includes('-h')) return { text: USAGE };
  if (name === undefined) return { text: USAGE, failed: first !== undefined };
  switch (name) {
    case 'listen': {
      const { values, rest } = readWords(args, LISTEN, ['PORT'], 0);
      const { types = '*', filter, forward, secret, verbose } = values;
      const options = {
        port: portOf(rest[0] ?? PORT),
        types: listOf(types),
        filter: filterOf(filter),
        forward,
        secret,
      };
      return withRemote(values, env, (remote, stop) => listen({ ...options, verbose }, remote, stop));
    }
    case 'endpoints': {
      const { values } = readWords(args, REMOTE_OPTIONS, [], 0);
      return withRemote(values, env, async (remote) => {
        console.log(await endpointTable(remote));
        return true;
      });
    }
    case 'resend': {
      const { values, rest } = readWords(args, REMOTE_OPTIONS, ['DELIVERY'], 1);
      return withRemote(values, env, (remote, stop) => resend(rest[0] ?? '', remote, stop));
    }
    case 'replay': {
      const { values, rest } = readWords(args, REPLAY, ['ENDPOINT'], 1);
      const { since, until, types } = values;
      if (since === undefined)
        throw new Error('replay needs --since, the position after which it begins, such as 3-1042');
      const range = {
        since,
        ...(until !== undefined && { until }),
        ...(types !== undefined && { types: listOf(types) }),
      };
      return withRemote(values, env, (remote, stop) => replay(rest[0] ?? '', range, remote, stop));
    }
  }
}

function portOf(word: string): number {
  const port = Number(word);
  if (!/^\d{1,5}$/.test(word) || port > 65_535) throw new Error(`'${word}' is not a port: a number up to 65535`);
  return port;
}

function listOf(types: string): string[] {
  return types.split(',').map((type) => type.trim());
}

function filterOf(word: string | undefined): object | null {
  if (word === undefined) return null;
  try {
    const filter: unknown = JSON.parse(word);
    if (isPlain(filter)) return filter;
  } catch {
    // Said below.
  }
  throw new Error(`--filter ${word}: this is not a JSON object, such as '{"done":true}'`);
}
