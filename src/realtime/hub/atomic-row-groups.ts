/** Cuts rows of the log into segments that are sent together: one database transaction, or a single row. */
import type { LogRow } from '../../events/log/log-row.ts';

export interface AtomicRowGroup {
  readonly rows: readonly LogRow[];
  /** Whether it is a transaction, even if only a part of its rows is here. */
  readonly joined: boolean;
}

export interface AtomicRowGroups {
  readonly segments: readonly AtomicRowGroup[];
  /** The beginning of a transaction whose end is missing here. */
  readonly open: readonly LogRow[];
}

export function splitByTransaction(rows: readonly LogRow[]): AtomicRowGroups {
  const segments: AtomicRowGroup[] = [];
  let open: LogRow[] = [];
  const close = () => {
    if (open.length > 0) segments.push({ rows: open, joined: true });
    open = [];
  };
  for (const row of rows) {
    if (open[0]?.transaction?.id !== row.transaction?.id) close();
    if (row.transaction === null) {
      segments.push({ rows: [row], joined: false });
      continue;
    }
    open.push(row);
    if (row.transaction.last) close();
  }
  return { segments, open };
}
