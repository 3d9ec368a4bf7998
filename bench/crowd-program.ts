/** The child program that holds subscribers for crowd.ts. It carries out one command at a time. */
import { setTimeout as pause } from 'node:timers/promises';
import { added, type Question, type Report } from './crowd.ts';
import { Watcher, type Wish } from './watcher.ts';

/** How many subscribers are opened at one time. */
const AT_ONCE = 50;

const watchers: Watcher[] = [];

process.on('message', (question: Question) => {
  answer(question).then(
    (said) => process.send?.(said),
    (error: unknown) => {
      console.error(error);
      process.exit(1);
    },
  );
});

async function answer(question: Question): Promise<unknown> {
  switch (question.ask) {
    case 'open':
      await open(question.wish, question.count);
      return null;
    case 'resume':
      for (const watcher of watchers) watcher.resume();
      return null;
    case 'changes':
      return watchers.reduce((sum, { changes }) => sum + changes, 0);
    case 'report':
      return report(question.wanted);
    case 'behind':
      return watchers.filter((watcher) => !watcher.live || !holds(watcher, question.held)).length;
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

function report(wanted: number): Report {
  const sum = (of: (watcher: Watcher) => number) => watchers.reduce((total, watcher) => total + of(watcher), 0);
  const said = {
    live: watchers.filter(({ live }) => live).length,
    changes: sum(({ changes }) => changes),
    lacking: sum(({ told }) => wanted - told.size),
    repeated: sum(({ repeated }) => repeated),
    delays: counted(watchers),
    resets: added(watchers.map(({ resets }) => resets)),
    closes: added(watchers.map(({ closes }) => closes)),
    faults: watchers.flatMap(({ faults }) => faults).slice(0, 10),
  };
  for (const watcher of watchers) {
    watcher.delays = [];
    watcher.changes = 0;
    watcher.told.clear();
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

function holds({ held }: Watcher, wanted: readonly (readonly [id: string, n: number])[]): boolean {
  return held.size === wanted.length && wanted.every(([id, n]) => held.get(id) === n);
}
