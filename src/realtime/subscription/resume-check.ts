/**
 * Checks whether a subscription can continue from an earlier position. All relevant rows since then are evaluated once
 * before anything is sent, so that a client never gets only a part of them. Nothing is sent here.
 */
import type { Principal } from '../../auth/identity/principal.ts';
import type { LogPosition } from '../../events/log/position.ts';
import { MillraceError } from '../../lib/errors.ts';
import type { TimedLogPosition } from '../hub/hub.ts';
import { type LiveResult, prepareRowCooperatively, type RowEffect } from '../result/live-result-interface.ts';
import { LogRowView } from '../result/log-row-view.ts';
import type { ResetReason } from '../wire/protocol.ts';
import { type BacklogChunk, BacklogExpired } from './missed-rows-reader.ts';
import type { RealtimeDeps } from './realtime-deps.ts';
import { mayChangeRights, RIGHTS_COLLECTIONS } from './recent-rights-changes.ts';

const MOST_MISSED = 10_000;

/** The position to continue from, or the reason why that is impossible. */
export type ResumeResult =
  | { readonly position: LogPosition; readonly through: TimedLogPosition }
  | { readonly reason: ResetReason };

/**
 * @param requested `judge` returns the effect of a row on the subscription: messages, or the reason why it cannot be
 * resumed
 * @throws MillraceError `invalid-parameter` if `since` is no position
 */
export async function checkResume(
  { feed, hub, backlog, fairYield }: Pick<RealtimeDeps, 'feed' | 'hub' | 'backlog' | 'fairYield'>,
  since: string,
  requested: {
    readonly collections: readonly string[] | null;
    readonly principal: Principal;
    /** Identifies the client: any value that is the same for all its reads. */
    readonly whose: unknown;
    readonly judge: (view: LogRowView) => RowEffect | 'window';
    readonly live: Pick<LiveResult, 'isHeavy' | 'prepare'>;
  },
): Promise<ResumeResult> {
  const position = await usable(feed, since);
  if (typeof position === 'string') return { reason: position };
  const through = hub.newest;
  const turn = hub.turn;
  const collections = requested.collections && [...requested.collections, ...RIGHTS_COLLECTIONS];
  const lane = fairYield.createTask(requested.whose);
  let missed = 0;
  const judge = async ({ segments }: BacklogChunk): Promise<ResetReason | null> => {
    for (const { rows } of segments) {
      for (const row of rows) {
        if (mayChangeRights(row, requested.principal)) return 'policy-changed';
        const view = await prepareRowCooperatively(new LogRowView(row), requested.live, lane);
        const verdict = requested.judge(view);
        if (typeof verdict === 'string') return verdict;
        missed += verdict.length;
        if (missed > MOST_MISSED) return 'too-far-behind';
      }
    }
    return null;
  };
  try {
    for (let after = position.number; after < through.number; ) {
      const missing = { after, through: through.number, collections, whose: requested.whose };
      const reason = await backlog.read(missing, async (stretch) => {
        await lane.waitTurn();
        after = stretch.through;
        return judge(stretch);
      });
      if (reason !== null) return { reason };
      if (hub.turn !== turn) return { reason: 'epoch-changed' };
    }
  } catch (error) {
    if (error instanceof BacklogExpired) return { reason: 'position-expired' };
    throw error;
  }
  return { position, through };
}

/** The row with a number, if it is about one of the collections. @throws BacklogExpired if it no longer exists */
export async function readBacklogRow(
  backlog: RealtimeDeps['backlog'],
  number: number,
  requested: { readonly collections: readonly string[]; readonly whose: unknown },
): Promise<LogRowView | null> {
  return await backlog.read({ after: number - 1, through: number, ...requested }, ({ segments }) => {
    const row = segments.flatMap(({ rows }) => rows).find((one) => one.number === number);
    return row === undefined ? null : new LogRowView(row);
  });
}

async function usable(feed: RealtimeDeps['feed'], since: string): Promise<LogPosition | ResetReason> {
  try {
    return await feed.usable(since);
  } catch (error) {
    const code = error instanceof MillraceError ? error.code : null;
    if (code === 'position-expired' || code === 'position-unknown' || code === 'epoch-changed') return code;
    throw error;
  }
}
