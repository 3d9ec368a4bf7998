/**
 * Sends the documents of a snapshot in parts, as fast as the client reads. Documents that are read and not sent yet,
 * and the entries of a window, count against the client's memory budget.
 */
import { decodeDocumentCooperatively } from '../../database/bson/stored-document.ts';
import type { MemoryAccount } from '../../lib/memory/byte-budget.ts';
import type { FairScheduler } from '../../query/evaluate/fair-scheduler.ts';
import type { LiveQuery } from '../result/live-query.ts';
import type { WindowMember } from '../result/query-window.ts';
import { renderDocument, sortKeyJson } from '../result/rendering.ts';
import { type SnapshotRead, snapshotBatches } from '../result/snapshot-reader.ts';
import { toWindowMember } from '../result/window-member.ts';
import { encodeSnapshotPart } from '../wire/encode-message.ts';
import type { SendQueue } from '../wire/send-queue.ts';

/** Bytes of documents and sort keys in one message; a single document may be larger. */
const PART_BYTES = 256 * 1024;

export interface Snapshot {
  /** The result that starts with the snapshot; its window is filled. */
  readonly live: LiveQuery;
  readonly read: SnapshotRead;
  readonly position: string;
  readonly fairYield: FairScheduler;
}

/**
 * Sends all of it, unless `run` is aborted.
 * @throws CollectionDropped, MillraceError `client-memory-exceeded`, `overloaded`, and the errors of reading
 */
export async function sendSnapshot(
  { id, queue }: { readonly id: string | null; readonly queue: SendQueue },
  run: AbortSignal,
  { live, read, position, fairYield }: Snapshot,
): Promise<void> {
  const { window, query } = live;
  const lane = fairYield.createTask(queue);
  const turn = () => lane.waitTurn();
  const members: WindowMember[] = [];
  let documents: Buffer[] = [];
  let keys: Buffer[] = [];
  let bytes = 0;
  const part = (at: string | null) => {
    queue.push(encodeSnapshotPart(id, documents, query.keyed ? keys : null, at));
    documents = [];
    keys = [];
    bytes = 0;
  };
  for await (const batch of memoryCountedBatches(read, queue.account)) {
    // During the read, the subscription may have ended or restarted, and another may have its id.
    if (run.aborted) return;
    for (const raw of batch) {
      if (lane.shouldYield) await lane.waitTurn();
      if (run.aborted) return;
      const document = query.keyed ? await decodeDocumentCooperatively(raw, turn) : null;
      if (window !== null && document !== null) {
        const member = toWindowMember(document, query);
        live.reserve(member);
        members.push(member);
      }
      if (query.limit !== null && members.length > query.limit) continue;
      const json = await renderDocument(query, raw, turn);
      if (run.aborted) return;
      documents.push(json);
      bytes += json.length;
      if (document !== null) {
        const key = Buffer.from(sortKeyJson(query, document));
        keys.push(key);
        bytes += key.length;
      }
      if (bytes < PART_BYTES) continue;
      part(null);
      await lane.waitTurn();
      await queue.ready(run);
      if (run.aborted) return;
    }
  }
  if (run.aborted) return;
  live.fill(members);
  part(position);
}

/** Batches that count against a memory budget while they are in use. */
export async function* memoryCountedBatches(
  read: SnapshotRead,
  account: MemoryAccount,
): AsyncGenerator<readonly Buffer[]> {
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
