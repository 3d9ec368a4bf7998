/** A test double of Svix that dies at random and loses its queue. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Random } from '../../helpers/random.ts';
import { SvixServer } from '../../helpers/webhooks/svix/svix-server.ts';

export interface DyingSvix {
  /** Settings of the servers that send by it. */
  readonly env: Readonly<Record<string, string>>;
  deaths(): number;
  /** Errors: violations of Svix's OpenAPI document, and deliveries that became more than one message. */
  issues(): readonly string[];
  stop(): Promise<void>;
}

/** Time between two crashes, in milliseconds. */
const LIFE_MS = 6_000;
const DEATH_MS = 500;
const SCHEDULE = [500, 1_000, 1_000, 1_000, 2_000, 2_000, 2_000];

export async function startDyingSvix(random: Random): Promise<DyingSvix> {
  const svix = new SvixServer({ timeoutMs: 2_000, schedule: SCHEDULE });
  await svix.start();
  const end = new AbortController();
  let deaths = 0;
  const dying = (async () => {
    for (;;) {
      await pause(LIFE_MS / 2 + random.below(LIFE_MS), undefined, { signal: end.signal });
      await svix.die();
      deaths += 1;
      await pause(random.below(DEATH_MS));
      await svix.start();
    }
  })().catch(() => undefined);
  return {
    env: { MILLRACE_SVIX_URL: svix.url, MILLRACE_SVIX_TOKEN: svix.token },
    deaths: () => deaths,
    issues: () => [
      ...svix.openApi.issues,
      ...[...svix.state.accepted].filter(([, count]) => count > 1).map(([id]) => `${id} was accepted more than once`),
    ],
    stop: async () => {
      end.abort();
      await dying;
      await svix.die();
    },
  };
}
