/** The child program that holds subscribers for crowd.ts. It executes one command at a time. */
import { setTimeout as pause } from 'node:timers/promises';
import { added, type Query, type Report } from './crowd.ts';
import { Watcher, type Wish } from './watcher.ts';

/** How many subscribers are opened concurrently. */
const AT_ONCE = 50;

const watchers: Watcher[] = [];

process.on('message', (query: Query) => {
  response(query).then(
    (said) => process.send?.(said),
    (error: unknown) => {
      console.error(error);
      process.exit(1);
    },
  );
});

async function response(query: Query): Promise<unknown> {
  switch (query.request) {
    case 'open':
      await open(query.wish, query.count);
      return null;
    case 'resume':
      for (const watcher of watchers) watcher.resume();
      return null;
    case 'changes':
      return watchers.reduce((sum, { changes }) => sum + changes, 0);
    case 'report':
      return report(query.requested);
    case 'behind':
      return watchers.filter((watcher) => !watcher.live || !holds(watcher, query.held)).length;
  }
}

async function open(wish: Wish, count: number): Promise<void> {
  while (watchers.length < count || watchers.some(({ live }) => !live)) {
    const underWay = watchers.filter(({ live }) => !live).length;
    const room = Math.min(AT_ONCE - underWay, count - watchers.length);
    const next = Array.from({ length: Math.max(0, room) }, () => new Watcher(wish));
    watchers.push(...next);
    await Promise.all(next.map((watcher) => watcher.open()));
    await pause(10);
  }
}

function report(requested: number): Report {
  const sum = (of: (watcher: Watcher) => number) => watchers.reduce((total, watcher) => total + of(watcher), 0);
  const said = {
    live: watchers.filter(({ live }) => live).length,
    changes: sum(({ changes }) => changes),
    lacking: sum(({ reported }) => requested - reported.size),
    repeated: sum(({ repeated }) => repeated),
    delays: counted(watchers),
    resets: added(watchers.map(({ resets }) => resets)),
    closes: added(watchers.map(({ closes }) => closes)),
    issues: watchers.flatMap(({ issues }) => issues).slice(0, 10),
  };
  for (const watcher of watchers) {
    watcher.delays = [];
    watcher.changes = 0;
    watcher.reported.clear();
  }
  return said;
}

function counted(watchers: readonly Watcher[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { delays } of watchers) {
    for (const delay of delays) {
      const tenths = Math.round(delay * 10);
      counts[tenths] = (counts[tenths] ?? 0) + 1;
    }
  }
  return counts;
}

function holds({ held }: Watcher, requested: readonly (readonly [id: string, n: number])[]): boolean {
  return held.size === requested.length && requested.every(([id, n]) => held.get(id) === n);
}
