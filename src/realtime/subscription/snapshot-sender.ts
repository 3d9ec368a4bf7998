/**
 * Sends the documents of a snapshot in parts, as fast as the client reads. Documents that are read and not sent yet,
 * and the entries of a window, count against the client's memory budget.
 */
import { readInTurns } from '../../database/bson/stored.ts';
import type { Account } from '../../lib/memory/byte-budget.ts';
import type { FairYield } from '../../query/evaluate/fair-yield.ts';
import type { LiveQuery } from '../result/live-query.ts';
import { keyText, renderedInTurns } from '../result/rendering.ts';
import { type SnapshotRead, snapshotBatches } from '../result/snapshot-store.ts';
import type { WindowMember } from '../result/window.ts';
import { toWindowMember } from '../result/window-document.ts';
import { snapshotPart } from '../wire/messages.ts';
import type { SendQueue } from '../wire/send-queue.ts';

/** Bytes of documents and sort keys in one message; a single document may be larger. */
const PART_BYTES = 256 * 1024;

export interface Snapshot {
  /** The result that starts with the snapshot; its window is filled. */
  readonly live: LiveQuery;
  readonly read: SnapshotRead;
  readonly position: string;
  readonly fairYield: FairYield;
}

/**
 * Sends all of it, unless `run` is aborted.
 * @throws Dropped, MillraceError `client-memory-exceeded`, `overloaded`, and the errors of reading
 */
export async function sendSnapshot(
  { id, queue }: { readonly id: string | null; readonly queue: SendQueue },
  run: AbortSignal,
  { live, read, position, fairYield }: Snapshot,
): Promise<void> {
  const { window, query } = live;
  const lane = fairYield.lane(queue);
  const turn = () => lane.pass();
  const members: WindowMember[] = [];
  let documents: Buffer[] = [];
  let keys: Buffer[] = [];
  let bytes = 0;
  const part = (at: string | null) => {
    queue.push(snapshotPart(id, documents, query.keyed ? keys : null, at));
    documents = [];
    keys = [];
    bytes = 0;
  };
  for await (const batch of heldBatches(read, queue.account)) {
    // During the read, the subscription may have ended or restarted, and another may have its id.
    if (run.aborted) return;
    for (const raw of batch) {
      if (lane.isOver) await lane.pass();
      if (run.aborted) return;
      const document = query.keyed ? await readInTurns(raw, turn) : null;
      if (window !== null && document !== null) {
        const member = toWindowMember(document, query);
        live.reserve(member);
        members.push(member);
      }
      if (query.limit !== null && members.length > query.limit) continue;
      const json = await renderedInTurns(query, raw, turn);
      if (run.aborted) return;
      documents.push(json);
      bytes += json.length;
      if (document !== null) {
        const key = Buffer.from(keyText(query, document));
        keys.push(key);
        bytes += key.length;
      }
      if (bytes < PART_BYTES) continue;
      part(null);
      await lane.pass();
      await queue.ready(run);
      if (run.aborted) return;
    }
  }
  if (run.aborted) return;
  live.fill(members);
  part(position);
}

/** Batches that count against a memory budget while they are in use. */
export async function* heldBatches(read: SnapshotRead, account: Account): AsyncGenerator<readonly Buffer[]> {
  for await (const batch of snapshotBatches(read)) {
    const bytes = batch.reduce((sum, { length }) => sum + length, 0);
    account.require(0);
    account.note(bytes);
    try {
      yield batch;
    } finally {
      account.note(-bytes);
    }
  }
}
