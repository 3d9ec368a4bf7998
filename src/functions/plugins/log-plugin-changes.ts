/** Activations and removals of plugins, as text for a terminal. */

import type { PluginRegistry } from './active-plugins.ts';
import type { Plugin, PluginFunction } from './plugin.ts';

/**
 * Reports the active plugins and every later change.
 * @returns a function that stops it
 */
export function logPluginChanges(
  registry: Pick<PluginRegistry, 'plugins' | 'onChange'>,
  report: (text: string) => void,
): () => void {
  let reported: readonly Plugin[] = [];
  const look = () => {
    const { plugins } = registry;
    for (const { name, from } of reported) {
      if (!plugins.some((one) => one.name === name && one.from === from)) report(`The plugin '${name}' was removed`);
    }
    for (const plugin of plugins) if (!reported.includes(plugin)) report(newsOf(plugin));
    reported = plugins;
  };
  look();
  return registry.onChange(look);
}

function newsOf({ name, enabled, isPlaceholder, functions }: Plugin): string {
  if (isPlaceholder) return `The plugin '${name}' has errors; writes that it would check are rejected`;
  if (!enabled) return `The plugin '${name}' is disabled`;
  return `The plugin '${name}' is active: ${functions.map(useOf).join(', ')}`;
}

/** When a function runs, in short. */
function useOf({ name, options, isQuarantined }: PluginFunction): string {
  if (isQuarantined) return `${name} (in quarantine)`;
  switch (options.kind) {
    case 'http':
      return `${options.methods.join('|')} /fn${options.path}`;
    case 'trigger':
      return `${name} on ${options.on.join(', ')}`;
    case 'cron':
      return `${name} at ${options.schedule} (${options.timeZone})`;
    case 'beforeWrite':
      return `${name} before writes to ${options.collections.join(', ')}`;
    case 'job':
      return `${name} as a job`;
    default:
      return options satisfies never;
  }
}
