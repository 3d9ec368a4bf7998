/**
 * `millrace webhooks`: a receiver for development, and endpoints and deliveries of a running server. It uses HTTP and needs no
 * access to the database.
 */
import type { Environment } from '../config/config.ts';
import { isPlainObject } from '../lib/plain-object.ts';
import type { CommandOutcome } from './commands.ts';
import {
  BOOLEAN_OPTION,
  parseCommandArgs,
  REMOTE_OPTIONS,
  REMOTE_USAGE,
  TEXT_OPTION,
  withRemote,
} from './remote/cli-args.ts';
import { endpointTable } from './webhooks/endpoint-table.ts';
import { listenForWebhooks } from './webhooks/listen.ts';
import { replayDeliveries, resendDelivery } from './webhooks/resend-and-replay.ts';

const USAGE = `From a clone npm run webhooks -- …, from an image or a package millrace webhooks …

millrace webhooks listen [PORT] [--types LIST] [--filter JSON] [--forward URL] [--secret TEXT] [--verbose]
  Receives deliveries at http://127.0.0.1:PORT/ (default 8080), and shows each with its signature verified. Creates
  an endpoint with this URL; Ctrl-C removes it.
  --types LIST     event types, separated by commas, such as 'todos.*,system.file.created'; default: all
  --filter JSON    only events of matching documents, such as '{"done":true}'
  --forward URL    forwards each delivery unchanged to your program, and returns its response
  --secret TEXT    uses this signing secret (whsec_ and base64) instead of a new one
  --verbose        also shows headers and body

millrace webhooks endpoints
  Lists the endpoints and their health.

millrace webhooks resend DELIVERY
  Sends a delivery again, and waits for the response.

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
  verbose: { ...BOOLEAN_OPTION, short: 'v' },
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
      const { values, rest } = parseCommandArgs(args, LISTEN, ['PORT'], 0);
      const { types = '*', filter, forward, secret, verbose } = values;
      const options = {
        port: portOf(rest[0] ?? PORT),
        types: listOf(types),
        filter: filterOf(filter),
        forward,
        secret,
      };
      return withRemote(values, env, (remote, stop) => listenForWebhooks({ ...options, verbose }, remote, stop));
    }
    case 'endpoints': {
      const { values } = parseCommandArgs(args, REMOTE_OPTIONS, [], 0);
      return withRemote(values, env, async (remote) => {
        console.log(await endpointTable(remote));
        return true;
      });
    }
    case 'resend': {
      const { values, rest } = parseCommandArgs(args, REMOTE_OPTIONS, ['DELIVERY'], 1);
      return withRemote(values, env, (remote, stop) => resendDelivery(rest[0] ?? '', remote, stop));
    }
    case 'replay': {
      const { values, rest } = parseCommandArgs(args, REPLAY, ['ENDPOINT'], 1);
      const { since, until, types } = values;
      if (since === undefined)
        throw new Error('--since is required: the position after which the replay starts, such as 3-1042');
      const range = {
        since,
        ...(until !== undefined && { until }),
        ...(types !== undefined && { types: listOf(types) }),
      };
      return withRemote(values, env, (remote, stop) => replayDeliveries(rest[0] ?? '', range, remote, stop));
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
    if (isPlainObject(filter)) return filter;
  } catch {
    // Reported below.
  }
  throw new Error(`--filter ${word}: not a JSON object, such as '{"done":true}'`);
}
