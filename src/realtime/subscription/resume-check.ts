/**
 * Checks whether a subscription can go on from an earlier position. All rows since then that concern it are evaluated
 * once before anything is sent, so that a client never gets only a part of them. Nothing is sent here.
 */
import type { Principal } from '../../auth/identity/principal.ts';
import type { LogPosition } from '../../events/log/position.ts';
import { MillraceError } from '../../kernel/errors.ts';
import { type Judgement, type LiveAnswer, readyFor } from '../answer/live-answer.ts';
import { RowView } from '../answer/row-view.ts';
import type { LogMoment } from '../hub/hub.ts';
import type { ResetReason } from '../wire/protocol.ts';
import { Overtaken, type Stretch } from './backlog.ts';
import type { RealtimeParts } from './realtime-parts.ts';
import { changesRights, RIGHTS } from './rights-changes.ts';

const MOST_MISSED = 10_000;

/** The position to go on from, or the reason why that is impossible. */
export type ResumeVerdict =
  | { readonly place: LogPosition; readonly through: LogMoment }
  | { readonly reason: ResetReason };

/**
 * @param asked `judge` says what a row means for the subscription: messages, or the reason why it cannot be resumed
 * @throws MillraceError `invalid-parameter` when `since` is no position
 */
export async function checkResume(
  { feed, hub, backlog, turnstile }: Pick<RealtimeParts, 'feed' | 'hub' | 'backlog' | 'turnstile'>,
  since: string,
  asked: {
    readonly collections: readonly string[] | null;
    readonly principal: Principal;
    /** The client that comes back: any value that is the same for all its reads. */
    readonly whose: unknown;
    readonly judge: (view: RowView) => Judgement | 'window';
    readonly live: Pick<LiveAnswer, 'isHeavy' | 'prepare'>;
  },
): Promise<ResumeVerdict> {
  const place = await usable(feed, since);
  if (typeof place === 'string') return { reason: place };
  const through = hub.newest;
  const turn = hub.turn;
  const collections = asked.collections && [...asked.collections, ...RIGHTS];
  const lane = turnstile.lane(asked.whose);
  let missed = 0;
  const judge = async ({ segments }: Stretch): Promise<ResetReason | null> => {
    for (const { rows } of segments) {
      for (const row of rows) {
        if (changesRights(row, asked.principal)) return 'policy-changed';
        const view = await readyFor(new RowView(row), asked.live, lane);
        const judgement = asked.judge(view);
        if (typeof judgement === 'string') return judgement;
        missed += judgement.length;
        if (missed > MOST_MISSED) return 'too-far-behind';
      }
    }
    return null;
  };
  try {
    for (let after = place.number; after < through.number; ) {
      const missing = { after, through: through.number, collections, whose: asked.whose };
      const reason = await backlog.read(missing, async (stretch) => {
        await lane.pass();
        after = stretch.through;
        return judge(stretch);
      });
      if (reason !== null) return { reason };
      if (hub.turn !== turn) return { reason: 'epoch-changed' };
    }
  } catch (error) {
    if (error instanceof Overtaken) return { reason: 'position-expired' };
    throw error;
  }
  return { place, through };
}

/**
 * The row of a number, when it is about one of the collections.
 * @throws Overtaken when it is gone
 */
export async function rowAt(
  backlog: RealtimeParts['backlog'],
  number: number,
  asked: { readonly collections: readonly string[]; readonly whose: unknown },
): Promise<RowView | null> {
  return await backlog.read({ after: number - 1, through: number, ...asked }, ({ segments }) => {
    const row = segments.flatMap(({ rows }) => rows).find((one) => one.number === number);
    return row === undefined ? null : new RowView(row);
  });
}

async function usable(feed: RealtimeParts['feed'], since: string): Promise<LogPosition | ResetReason> {
  try {
    return await feed.usable(since);
  } catch (error) {
    const code = error instanceof MillraceError ? error.code : null;
    if (code === 'position-expired' || code === 'position-unknown' || code === 'epoch-changed') return code;
    throw error;
  }
}
