/** Enabled plugins, built by hand for tests of running their functions. */
import { WRITE_HOOK_ACTIONS } from '../../../src/functions/plugins/manifest/manifest.ts';
import type { FunctionOptions, Plugin, PluginFunction } from '../../../src/functions/plugins/plugin.ts';

type Use = FunctionOptions;

export interface FunctionSpec extends Partial<Omit<PluginFunction, 'id' | 'name' | 'plugin' | 'options'>> {
  readonly use: Use;
}

/** A plugin whose functions have the files `<name>.ts`. @param files their texts, by name of the function */
export function pluginOf(
  name: string,
  specs: Readonly<Record<string, FunctionSpec>>,
  files: Readonly<Record<string, string>> = {},
  fields: Partial<Plugin> = {},
): Plugin {
  const texts = new Map(Object.entries(files).map(([file, text]) => [`${file}.ts`, text]));
  const functions: PluginFunction[] = [];
  const plugin: Plugin = {
    name,
    from: 'database',
    version: '1',
    enabled: true,
    isPlaceholder: false,
    bundle: { id: `${name}-1-${JSON.stringify(files).length}`, files: texts },
    fetchHosts: [],
    isolation: 'plugin',
    secrets: {},
    readsUsers: false,
    functions,
    ...fields,
  };
  for (const [short, { use, ...rest }] of Object.entries(specs)) {
    functions.push({
      id: `${name}/${short}`,
      name: short,
      plugin,
      file: `${short}.ts`,
      as: 'caller',
      roles: [],
      timeoutMs: 10_000,
      isQuarantined: false,
      ...rest,
      options: use,
    });
  }
  return plugin;
}

/** A job of a plugin of its own. */
export function jobOf(plugin: string): PluginFunction<'job'> {
  const [fn] = pluginOf(plugin, { later: { use: { kind: 'job' }, as: 'function' } }).functions;
  if (fn?.options.kind !== 'job') throw new Error('It is a job');
  return { ...fn, options: fn.options };
}

/** The configuration of an HTTP function: `POST /invoice/:id/total`, with methods separated by commas. */
export function endpoint(route: string): Extract<Use, { kind: 'http' }> {
  const [methods = '', path = ''] = route.split(' ');
  return { kind: 'http', methods: methods.split(','), path };
}

/** The configuration of a write hook: `create,update notes,orders`, with collections separated by commas. */
export function before(writes: string): FunctionSpec {
  const [actions = '', collections = ''] = writes.split(' ');
  const named = actions.split(',');
  return {
    use: {
      kind: 'beforeWrite',
      collections: collections.split(','),
      actions: WRITE_HOOK_ACTIONS.filter((action) => named.includes(action)),
    },
    timeoutMs: 3_000,
  };
}
