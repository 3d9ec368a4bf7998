/**
 * Which plugins came into force and which went, in words for a person at the terminal. Not here: faults, which the loader tells.
 */
import type { Plugin, PluginFunction } from './plugin.ts';
import type { PluginBook } from './plugin-book.ts';

/** Tells of what is in force, and of every change from then on. @returns ends that */
export function tellNews(book: Pick<PluginBook, 'plugins' | 'onChange'>, tell: (text: string) => void): () => void {
  let told: readonly Plugin[] = [];
  const look = () => {
    const { plugins } = book;
    for (const { name, from } of told) {
      if (!plugins.some((one) => one.name === name && one.from === from)) tell(`The plugin '${name}' is gone`);
    }
    for (const plugin of plugins) if (!told.includes(plugin)) tell(newsOf(plugin));
    told = plugins;
  };
  look();
  return book.onChange(look);
}

function newsOf({ name, enabled, isStandIn, functions }: Plugin): string {
  if (isStandIn) return `The plugin '${name}' has faults; writes that it would check are refused`;
  if (!enabled) return `The plugin '${name}' is switched off`;
  return `The plugin '${name}' is in force: ${functions.map(useOf).join(', ')}`;
}

/** When a function runs, in short. */
function useOf({ name, use, isQuarantined }: PluginFunction): string {
  if (isQuarantined) return `${name} (in quarantine)`;
  switch (use.kind) {
    case 'endpoint':
      return `${use.methods.join('|')} /fn${use.path}`;
    case 'trigger':
      return `${name} on ${use.on.join(', ')}`;
    case 'cron':
      return `${name} at ${use.schedule} (${use.timeZone})`;
    case 'before':
      return `${name} before writes to ${use.collections.join(', ')}`;
    case 'job':
      return `${name} as a job`;
    default:
      return use satisfies never;
  }
}
