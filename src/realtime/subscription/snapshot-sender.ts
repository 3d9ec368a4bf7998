/**
 * Sends the documents of a snapshot in parts, as fast as the client takes them. Documents that are read and not sent
 * yet, and the members of a window, count on the client's account. Not here: which moment is read
 * (document-subscription.ts).
 */
import { readInTurns } from '../../database/bson/stored.ts';
import type { Account } from '../../kernel/memory/byte-budget.ts';
import type { Turnstile } from '../../query/evaluate/turnstile.ts';
import type { LiveQuery } from '../answer/live-query.ts';
import { keyText, renderedInTurns } from '../answer/rendering.ts';
import { type SnapshotRead, snapshotBatches } from '../answer/snapshot-store.ts';
import type { WindowMember } from '../answer/window.ts';
import { toMember } from '../answer/window-member.ts';
import { snapshotPart } from '../wire/messages.ts';
import type { SendQueue } from '../wire/send-queue.ts';

/** Bytes of documents and sort keys in one message; a single document may be larger. */
const PART_BYTES = 256 * 1024;

export interface Snapshot {
  /** The answer that begins with the snapshot; its window is filled. */
  readonly live: LiveQuery;
  readonly read: SnapshotRead;
  readonly position: string;
  readonly turnstile: Turnstile;
}

/**
 * Sends all of it, unless `run` is aborted.
 * @throws Dropped, MillraceError `too-much-held`, `overloaded`, and the errors of reading
 */
export async function sendSnapshot(
  { id, queue }: { readonly id: string | null; readonly queue: SendQueue },
  run: AbortSignal,
  { live, read, position, turnstile }: Snapshot,
): Promise<void> {
  const { window, question } = live;
  const lane = turnstile.lane(queue);
  const turn = () => lane.pass();
  const members: WindowMember[] = [];
  let documents: Buffer[] = [];
  let keys: Buffer[] = [];
  let bytes = 0;
  const part = (at: string | null) => {
    queue.push(snapshotPart(id, documents, question.keyed ? keys : null, at));
    documents = [];
    keys = [];
    bytes = 0;
  };
  for await (const batch of heldBatches(read, queue.account)) {
    // While the database was read, the subscription may have ended or begun anew, and another may have its name.
    if (run.aborted) return;
    for (const raw of batch) {
      if (lane.isOver) await lane.pass();
      if (run.aborted) return;
      const document = question.keyed ? await readInTurns(raw, turn) : null;
      if (window !== null && document !== null) {
        const member = toMember(document, question);
        live.reserve(member);
        members.push(member);
      }
      if (question.limit !== null && members.length > question.limit) continue;
      const json = await renderedInTurns(question, raw, turn);
      if (run.aborted) return;
      documents.push(json);
      bytes += json.length;
      if (document !== null) {
        const key = Buffer.from(keyText(question, document));
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

/** Batches that count on an account while they are in use. */
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
