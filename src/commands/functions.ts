/**
 * `millrace functions`: plugins in folders of this machine, and on a running server. It uses HTTP and needs no access to the
 * database.
 */
import type { Environment } from '../config/config.ts';
import { FUNCTION_KINDS } from '../functions/sandbox/sandbox.ts';
import type { CommandOutcome } from './commands.ts';
import { dryRunFunction } from './functions/dry-run.ts';
import { writePluginTypes } from './functions/editor-files.ts';
import { followFunctionLogs } from './functions/logs.ts';
import { newPlugin } from './functions/new-plugin.ts';
import { findPluginFolder, pluginsFolder } from './functions/plugin-folder.ts';
import { pullPlugin } from './functions/pull.ts';
import { pushPlugin } from './functions/push.ts';
import {
  BOOLEAN_OPTION,
  parseCommandArgs,
  REMOTE_OPTIONS,
  REMOTE_USAGE,
  TEXT_OPTION,
  withRemote,
} from './remote/cli-args.ts';

const USAGE = `From a clone npm run functions -- …, from an image or a package millrace functions …

millrace functions new NAME [--kind ${FUNCTION_KINDS.join('|')}]
  Makes the plugin plugins/NAME with a function that works, an HTTP function unless another kind is named. A server that
  runs here loads it by itself, and again whenever a file is saved.

millrace functions push [FOLDER|NAME] [--note TEXT]
  Stores the plugin in the database of a server as a new version, and activates that. Without a name: the folder
  in which the command runs.

millrace functions pull NAME [--force]
  Writes the version that is active into plugins/NAME. --force replaces files that are there.

millrace functions logs [NAME] [--function F]
  Shows runs as they end and what they log, of all plugins or of one; Ctrl-C ends it.

millrace functions dry-run PLUGIN/FUNCTION [--input JSON] [--as PRINCIPAL] [--roles LIST] [--local]
  Calls the function once and shows what it returned, logged and did. What it has written is taken back.
  --input JSON     its input; of an endpoint what is not as in an empty request, such as '{"params":{"id":"1"}}'
  --as PRINCIPAL   anonymous, user:ID or key:ID, instead of you; with the roles of --roles
  --local          the code in plugins/PLUGIN, and not the version active

millrace functions types
  Writes plugins/millrace.d.ts, the types for editors, with the current collections of the server.

  --folder FOLDER  where plugins lie here; the first of MILLRACE_PLUGINS_DIR, or plugins

${REMOTE_USAGE}`;

const LOCAL = { ...REMOTE_OPTIONS, folder: TEXT_OPTION } as const;
const NAMES = ['new', 'push', 'pull', 'logs', 'dry-run', 'types'] as const;

export async function functions(words: readonly string[], env: Environment): Promise<CommandOutcome> {
  const [first, ...args] = words;
  const name = NAMES.find((one) => one === first);
  if (words.includes('--help') || words.includes('-h')) return { text: USAGE };
  if (first === undefined) return { text: USAGE };
  if (name === undefined) throw new Error(`'${first}' is not a command: use ${NAMES.join(', ')}; see --help`);
  switch (name) {
    case 'new': {
      const { values, rest } = parseCommandArgs(args, { ...LOCAL, kind: TEXT_OPTION }, ['NAME'], 1);
      const { kind = 'http' } = values;
      const known = FUNCTION_KINDS.find((one) => one === kind);
      if (known === undefined) throw new Error(`--kind ${kind}: must be one of ${FUNCTION_KINDS.join(', ')}`);
      const folder = pluginsFolder(env, values.folder);
      return withRemote(values, env, (remote) => newPlugin({ name: rest[0] ?? '', kind: known, folder }, remote));
    }
    case 'push': {
      const { values, rest } = parseCommandArgs(args, { ...LOCAL, note: TEXT_OPTION }, ['FOLDER'], 0);
      const plugin = findPluginFolder(rest[0] ?? '.', pluginsFolder(env, values.folder));
      return withRemote(values, env, (remote) => pushPlugin(plugin, values.note, remote));
    }
    case 'pull': {
      const { values, rest } = parseCommandArgs(args, { ...LOCAL, force: BOOLEAN_OPTION }, ['NAME'], 1);
      const folder = pluginsFolder(env, values.folder);
      return withRemote(values, env, (remote) =>
        pullPlugin({ name: rest[0] ?? '', folder, force: values.force }, remote),
      );
    }
    case 'logs': {
      const { values, rest } = parseCommandArgs(args, { ...REMOTE_OPTIONS, function: TEXT_OPTION }, ['NAME'], 0);
      const requested = { plugin: rest[0], fn: values.function };
      return withRemote(values, env, (remote, stop) => followFunctionLogs(requested, remote, stop));
    }
    case 'dry-run': {
      const options = { ...LOCAL, input: TEXT_OPTION, as: TEXT_OPTION, roles: TEXT_OPTION, local: BOOLEAN_OPTION };
      const { values, rest } = parseCommandArgs(args, options, ['PLUGIN/FUNCTION'], 1);
      const [plugin = '', fn = '', ...more] = (rest[0] ?? '').split('/');
      if (plugin === '' || fn === '' || more.length > 0) throw new Error(`'${rest[0]}' is not PLUGIN/FUNCTION`);
      const draft = values.local ? findPluginFolder(plugin, pluginsFolder(env, values.folder)).path : null;
      const principal = principalOf(values.as, values.roles);
      const simulation = { plugin, fn, input: inputOf(values.input), principal, draft };
      return withRemote(values, env, (remote) => dryRunFunction(simulation, remote));
    }
    case 'types': {
      const { values } = parseCommandArgs(args, LOCAL, [], 0);
      return withRemote(values, env, (remote) => writePluginTypes(pluginsFolder(env, values.folder), remote));
    }
  }
}

function inputOf(word: string | undefined): unknown {
  if (word === undefined) return undefined;
  try {
    return JSON.parse(word);
  } catch {
    throw new Error(`--input ${word}: not JSON`);
  }
}

/** `anonymous`, or a kind and an id. */
function principalOf(word: string | undefined, roles: string | undefined): object | undefined {
  if (word === undefined) {
    if (roles !== undefined) throw new Error('--roles requires --as, such as --as user:ada --roles editor');
    return undefined;
  }
  if (word === 'anonymous') return { kind: 'anonymous' };
  const [, kind, id] = /^(user|key):(.+)$/.exec(word) ?? [];
  if (kind === undefined) throw new Error(`--as ${word}: must be anonymous, user:ID or key:ID`);
  return { kind, id, roles: (roles ?? '').split(',').flatMap((role) => role.trim() || []) };
}
