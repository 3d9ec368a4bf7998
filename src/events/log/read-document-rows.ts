/**
 * The rows of one document, newest first. The log has no index for them, because it would slow down every append: the
 * database scans all rows, a part of the log in each call.
 */
import type { Db, Document } from 'mongodb';
import { withTranslatedErrors } from '../../database/errors.ts';
import { idCandidates, idFromText } from '../../database/json/ids.ts';
import { decodeLogRow, type LogRow, rowBytesWithDocument } from './log-row.ts';

/** Timeout of one call, in milliseconds. It takes that long only if rows are much larger than those before. */
const CALL_MS = 5_000;

export interface DocumentRowsQuery {
  /** The highest number to scan. */
  readonly from: number;
  /** The lowest one. */
  readonly down: number;
  readonly collection: string;
  /** The document's id as clients see it. */
  readonly id: string;
  readonly limit: number;
  /** Size of rows in bytes at which it stops. */
  readonly maxBytes: number;
}

export interface DocumentHistoryPage {
  /** Newest first. */
  readonly rows: readonly LogRow[];
  /** The lowest number that was scanned. */
  readonly down: number;
}

/**
 * The rows of one document in a part of the log.
 * @throws MillraceError `query-timeout`
 */
export async function readDocumentRows(db: Db, requested: DocumentRowsQuery): Promise<DocumentHistoryPage> {
  const { from, down, collection, id, limit, maxBytes } = requested;
  const keys = [idFromText(id), ...idCandidates(id)].map((_id) => ({ _id }));
  const filter: Document = {
    _id: { $gte: down, $lte: from },
    c: collection,
    k: { $in: keys },
    op: { $in: ['insert', 'update', 'replace', 'delete'] },
  };
  const options = {
    sort: { _id: -1 },
    limit,
    maxTimeMS: CALL_MS,
    readConcern: { level: 'majority' },
    raw: true,
  } as const;
  return withTranslatedErrors(async () => {
    const rows: LogRow[] = [];
    let bytes = 0;
    for await (const stored of db.collection('log').find(filter, options)) {
      const row = decodeLogRow(stored as unknown as Uint8Array);
      rows.push(row);
      bytes += rowBytesWithDocument(row);
      if (rows.length >= limit || bytes >= maxBytes) return { rows, down: row.number };
    }
    return { rows, down };
  });
}
