/**
 * Changes the program's own source while it is loaded (`node --import`), for the torture test of webhooks only. `times`
 * shortens leases, limits and pauses, so that a run takes a minute and not an hour. The others are mutations: a run
 * with one of them must end red, which proves that the checker detects it.
 */
import { type Edit, loadEdited, type Mutations, wordsFor } from '../edited.ts';

const STORE = 'src/webhooks/sending/queue/delivery-store.ts';

const TIMES: readonly Edit[] = [
  {
    file: 'src/webhooks/sending/queue/queue-types.ts',
    from: 'timeoutMs: 15_000,\n  leaseMs: 45_000,',
    to: 'timeoutMs: 2_000, leaseMs: 10_000,',
  },
  {
    file: 'src/webhooks/sending/retry-schedule.ts',
    from: 'standard: [5 * SECOND, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR, 10 * HOUR],',
    to: 'standard: [0.5, 1, 1, 1, 2, 2, 2].map((pause) => pause * SECOND),',
  },
];

const SVIX_TIMES: readonly Edit[] = [
  {
    file: 'src/webhooks/sending/svix/svix-sender.ts',
    from: 'pollMs: [1_000, 2_000, 5_000, 15_000, 60_000],',
    to: 'pollMs: [100, 200, 500, 1_000],',
  },
  { file: 'src/webhooks/sending/svix/svix-sender.ts', from: 'lostMs: 120_000,', to: 'lostMs: 5_000,' },
  { file: 'src/webhooks/sending/svix/svix-sender.ts', from: 'pauseMs: 1_000,', to: 'pauseMs: 100,' },
  { file: 'src/webhooks/sending/svix/svix-sender.ts', from: 'const LATE_MS = 1_000;', to: 'const LATE_MS = 100;' },
];

export const MUTATIONS: Mutations = {
  /** The planner's cursor moves before the deliveries are submitted. */
  'cursor-first': [
    {
      file: 'src/events/read/consumer.ts',
      from: 'if (mine.length > 0) await this.#work(mine);',
      to: 'if (mine.length > 0) { await this.#move(last); await this.#work(mine); }',
    },
  ],
  /** A process leases what another one is sending. */
  'no-lease': [
    {
      file: STORE,
      from: '{ endpoint: { $in: [...endpoints] }, dueAt: { $lte: now } }',
      to: '{ endpoint: { $in: [...endpoints] }, dueAt: { $exists: true } }',
    },
    {
      file: STORE,
      from: 'filter: { endpoint, dueAt: { $lte: now } },',
      to: 'filter: { endpoint, dueAt: { $exists: true } },',
    },
    {
      file: STORE,
      from: "dueAt: { $exists: true }, $expr: { $lte: ['$dueAt', now] } }",
      to: 'dueAt: { $exists: true } }',
    },
  ],
  /** An endpoint gets the body that was built for another one. */
  'foreign-body': [
    { file: 'src/webhooks/planning/deliveries-for-event.ts', from: 'sights.get(key)', to: "sights.get('')" },
    {
      file: 'src/webhooks/planning/deliveries-for-event.ts',
      from: 'sights.set(key, seeing)',
      to: "sights.set('', seeing)",
    },
  ],
};

/** Every edit, for the test that they still apply. */
export const EDITS: readonly Edit[] = [...TIMES, ...SVIX_TIMES, ...Object.values(MUTATIONS).flat()];

/** Arguments for node that load a server with short times and a mutation. */
export function nodeWords(mutation: string): readonly string[] {
  return wordsFor(import.meta.url, MUTATIONS, mutation);
}

loadEdited(import.meta.url, [...TIMES, ...SVIX_TIMES], MUTATIONS);
