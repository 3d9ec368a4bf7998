/**
 * Sends the snapshot with which a subscription starts, in parts, as fast as its client reads. The encoded bytes are
 * shared with equal subscriptions (shared-snapshots.ts). A result that is too large for that is read for the client alone:
 * then its documents count against the client's memory budget until they are sent.
 */
import type { Timestamp } from 'mongodb';
import { formatPosition, type LogPosition } from '../../events/log/position.ts';
import type { FairSemaphore } from '../../lib/concurrency/fair-semaphore.ts';
import type { MemoryAccount } from '../../lib/memory/byte-budget.ts';
import type { LiveQuery } from '../result/live-query.ts';
import type { WindowMember } from '../result/query-window.ts';
import { renderSnapshot } from '../result/rendering.ts';
import type { SnapshotRead } from '../result/snapshot-reader.ts';
import { frameSnapshotPart } from '../wire/encode-message.ts';
import type { SendQueue } from '../wire/send-queue.ts';
import type { RealtimeDeps } from './realtime-deps.ts';
import { MOST_DOCUMENTS, type SharedSnapshotHold, tooManyDocuments } from './shared-snapshots.ts';

export interface SnapshotRecipient {
  readonly id: string | null;
  readonly queue: SendQueue;
  readonly deps: Pick<RealtimeDeps, 'hub' | 'store' | 'slots' | 'snapshots' | 'fairYield'>;
  /** Called before the first part. @param time the cluster time; null if the collection does not exist */
  readonly onBegin: (mark: LogPosition, time: Timestamp | null) => void;
}

/**
 * Sends all of it, unless `run` is aborted.
 * @param live the result that starts with the snapshot; its window is filled
 * @param notBefore an older snapshot must not be sent; monotonic milliseconds
 * @throws CollectionDropped, MillraceError `subscription-result-too-large`, `client-memory-exceeded`, `overloaded`, and the
 *   errors of reading
 */
export async function sendSnapshot(
  recipient: SnapshotRecipient,
  run: AbortSignal,
  live: LiveQuery,
  notBefore: number,
): Promise<void> {
  const { queue, deps } = recipient;
  if (!queue.isReady) await queue.ready(run);
  if (run.aborted) return;
  const shared = await deps.snapshots.acquire({ query: live.query, whose: queue.account.key, run, notBefore });
  if (shared === null) {
    if (!run.aborted) await sendUnshared(recipient, run, live);
    return;
  }
  try {
    if (!run.aborted) await sendShared(recipient, run, live, shared);
  } finally {
    shared.release();
  }
}

async function sendShared(
  { id, queue, deps, onBegin }: SnapshotRecipient,
  run: AbortSignal,
  live: LiveQuery,
  { snapshot, holdAgain }: SharedSnapshotHold,
): Promise<void> {
  const { mark, time, parts, members } = snapshot;
  queue.account.require(members.reduce((sum, { bytes }) => sum + bytes, 0));
  onBegin(mark, time);
  for (const part of parts) {
    // One part in a turn of the event loop, however many clients are ready: each write copies it to a connection.
    await deps.fairYield.waitTurn(queue);
    await queue.ready(run);
    if (run.aborted) return;
    const { head, end } = frameSnapshotPart(id, part);
    queue.push(head);
    queue.pushShared(part.body, holdAgain());
    if (end !== null) queue.push(end);
  }
  live.fill(members);
}

async function sendUnshared(
  { id, queue, deps, onBegin }: SnapshotRecipient,
  run: AbortSignal,
  live: LiveQuery,
): Promise<void> {
  const { hub, store, slots, fairYield } = deps;
  const { query } = live;
  const mark = hub.newest;
  const read = await slots.run(queue.account.key, () => store.open(query, null, live.capacity));
  try {
    if (run.aborted) return;
    const isLong = read.more && live.window === null;
    if (isLong && (await store.count(query, MOST_DOCUMENTS + 1)) > MOST_DOCUMENTS) throw tooManyDocuments();
    if (run.aborted) return;
    onBegin(mark, read.time);
    const members: WindowMember[] = [];
    const onMember = (member: WindowMember) => {
      live.reserve(member);
      members.push(member);
    };
    const lane = fairYield.createTask(queue);
    const batches = memoryCountedBatches(read, queue.account, slots);
    // During the read, the subscription may have ended or restarted, and another may have its id.
    const isObsolete = () => run.aborted;
    const options = { query, batches, position: formatPosition(mark), lane, onMember, isObsolete };
    for await (const part of renderSnapshot(options)) {
      if (run.aborted) return;
      const { head, end } = frameSnapshotPart(id, part);
      for (const chunk of [head, part.body, end]) if (chunk !== null) queue.push(chunk);
      if (part.position !== null) continue;
      await lane.waitTurn();
      await queue.ready(run);
      if (run.aborted) return;
    }
    live.fill(members);
  } finally {
    await read.close();
  }
}

/** Batches that are read in turn with other clients, and count against a memory budget while they are in use. */
export async function* memoryCountedBatches(
  read: SnapshotRead,
  account: MemoryAccount,
  slots: FairSemaphore,
): AsyncGenerator<readonly Buffer[]> {
  const rest = read.more ? read.rest() : null;
  for (let batch: readonly Buffer[] | null = read.first; batch !== null; ) {
    const bytes: number = batch.reduce((sum, { length }) => sum + length, 0);
    account.require(0);
    account.note(bytes);
    try {
      yield batch;
    } finally {
      account.note(-bytes);
    }
    const next = rest && (await slots.run(account.key, () => rest.next()));
    batch = next === null || next.done === true ? null : next.value;
  }
}
