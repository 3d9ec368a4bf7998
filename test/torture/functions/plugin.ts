/**
 * The plugin of the torture test: a trigger that counts events into documents, one that writes chains, a cron job and a
 * job. The number in the document decides about further effects, so that the checker knows them as well.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** For events with these numbers: the first attempt fails after it has written; a chain begins; a job is scheduled. */
export const fails = (w: number) => w % 13 === 0;
export const links = (w: number) => w % 10 === 0;
export const schedules = (w: number) => w % 7 === 0;

/** Which function writes what, and when. */
const MANIFEST = {
  name: 'torture',
  functions: [
    { name: 'count', file: 'count.ts', on: ['todos.*'], as: 'function', roles: ['torture'] },
    { name: 'link', file: 'link.ts', on: ['links.created'], as: 'function', roles: ['torture'] },
    { name: 'tick', file: 'tick.ts', cron: '* * * * *', as: 'function', roles: ['torture'] },
    { name: 'later', file: 'later.ts', job: true, as: 'function', roles: ['torture'] },
  ],
};

/** Each event once into `effects`, and in the order of its document into `counters`. */
const COUNT = `
export default async (event, ctx) => {
  const id = String(event.documentId);
  const w = event.data === null ? 1 : event.data.w;
  await ctx.documents('effects').create({ event: event.id, run: ctx.run.id });
  const counters = ctx.documents('counters');
  const before = await counters.get(id);
  if (before === null) await counters.create({ id, n: 1, order: [event.id] });
  else await counters.replace(id, { n: before.n + 1, order: [...before.order, event.id] });
  if (w % 10 === 0) await ctx.documents('links').create({ root: event.id, length: 1 });
  if (w % 7 === 0) await ctx.schedule('later', { event: event.id }, { after: w % 700 });
  if (w % 13 === 0 && ctx.run.attempt === 1) throw new Error('The first attempt fails');
};
`;

const LINK = `
export default async (event, ctx) => {
  const { root, length } = event.data;
  await ctx.documents('links').create({ root, length: length + 1 });
};
`;

const TICK = `
export default async (input, ctx) => {
  await ctx.documents('ticks').create({ at: input.scheduledAt });
};
`;

const LATER = `
export default async (input, ctx) => {
  await ctx.documents('laters').create({ event: input.event });
};
`;

/** Writes the plugin. @returns the folder of plugins */
export function writePlugin(folder: string): string {
  const plugin = join(folder, 'plugins', MANIFEST.name);
  mkdirSync(plugin, { recursive: true });
  writeFileSync(join(plugin, 'plugin.json'), JSON.stringify(MANIFEST));
  for (const [name, text] of Object.entries({ count: COUNT, link: LINK, tick: TICK, later: LATER })) {
    writeFileSync(join(plugin, `${name}.ts`), text);
  }
  return join(folder, 'plugins');
}
