/**
 * Changes the program's own source while it is loaded (`node --import`), for the torture test of functions only.
 * `times` shortens pauses and cron intervals, so that a run takes a minute and not an hour, and does not count kills.
 * The others are mutations: a run with one of them must end red, which proves that the checker detects it.
 */
import { type Edit, loadEdited, type Mutations, wordsFor } from '../edited.ts';

const QUEUE = 'src/functions/queue';

const TIMES: readonly Edit[] = [
  {
    file: `${QUEUE}/running/queued-run-transitions.ts`,
    from: 'const PAUSES_MS = [1_000, 10_000, 60_000, 600_000]',
    to: 'const PAUSES_MS = [100, 200, 400, 400, 400, 400, 400, 400, 400, 400, 400, 400]',
  },
  {
    file: 'src/functions/plugins/manifest/cron.ts',
    from: "new croner.Cron(schedule, { mode: '5-part',",
    to: "new croner.Cron('*/2 ' + schedule, { mode: '6-part',",
  },
  // Here the nemesis kills the process that runs the code, and not the function.
  { file: 'src/functions/plugins/crash-counter.ts', from: 'const MOST = 3;', to: 'const MOST = 1_000;' },
];

export const MUTATIONS: Mutations = {
  /** The writes of a run are committed separately from the run. */
  'effects-apart': [
    {
      file: `${QUEUE}/running/attempt.ts`,
      from: 'caller: null,\n        within,',
      to: 'caller: null,\n        within: null,',
    },
  ],
  /** The cursor moves before the runs are stored. */
  'cursor-first': [
    {
      file: 'src/events/read/consumer.ts',
      from: 'if (mine.length > 0) await this.#work(mine);',
      to: 'if (mine.length > 0) { await this.#move(last); await this.#work(mine); }',
    },
  ],
  /** Runs of one document do not wait for each other. */
  'no-order': [
    {
      file: `${QUEUE}/planning/trigger-runs.ts`,
      from: 'const dueAt = document === null ? now : null;',
      to: 'const dueAt = now;',
    },
  ],
  /** A process ends runs that another one has taken over. */
  'no-token': [
    {
      file: `${QUEUE}/running/queue-store.ts`,
      from: "updateOne({ _id: id, token }, ended('succeeded', fields, now), {",
      to: "updateOne({ _id: id }, ended('succeeded', fields, now), {",
    },
    {
      file: `${QUEUE}/running/attempt.ts`,
      from: 'if (times > 1 && !(await store.holdsLease(run._id, token)))',
      to: 'if (times > 1_000)',
    },
  ],
};

/** Every edit, for the test that they still apply. */
export const EDITS: readonly Edit[] = [...TIMES, ...Object.values(MUTATIONS).flat()];

/** Arguments for node that load a server with short times and a mutation. */
export function nodeWords(mutation: string): readonly string[] {
  return wordsFor(import.meta.url, MUTATIONS, mutation);
}

loadEdited(import.meta.url, TIMES, MUTATIONS);
