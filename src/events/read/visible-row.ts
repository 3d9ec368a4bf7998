/**
 * Rows of the log as one reader may see them: the states before and after, each cut by the reader's Scope. Pure. Not
 * here: the envelope (event.ts) and which rows are asked for (feed.ts).
 */
import { readStored } from '../../database/bson/stored.ts';
import { cutBytes } from '../../policies/fields/cut-bytes.ts';
import { ALL, cutTo } from '../../policies/fields/field-tree.ts';
import { fieldsFor, hidesFields, reachesAll } from '../../policies/reach.ts';
import type { Scope } from '../../policies/scope.ts';
import type { Match } from '../../query/evaluate/match.ts';
import type { LogRow } from '../log/row.ts';

/**
 * The row with what the Scope shows of its states; null when it shows neither, or neither passes the question. Rows
 * about a whole collection are for all of its readers. What came without its states is for whom any document may be
 * shown: whose it was, and what the question makes of it, nobody knows.
 * @param asked asked of what is shown: a reader cannot find out the rest by asking
 */
export function seenRow(row: LogRow, scope: Scope, asked: Match): LogRow | null {
  const isBlind = row.after === null && row.before === null;
  let passes = row.key === null || (isBlind && reachesAll(scope));
  let whole = reachesAll(scope) && !hidesFields(scope);
  const cut = (body: Buffer | null): Buffer | null => {
    const document = body && readStored(body);
    const fields = document && fieldsFor(scope, document);
    whole &&= fields === ALL || body === null;
    if (body === null || document === null || fields === null) return null;
    passes ||= asked(cutTo(document, fields));
    return cutBytes(body, fields);
  };
  const [after, before] = [cut(row.after), cut(row.before)];
  if (!passes) return null;
  // What changed is named from the states that are shown, or not at all.
  return { ...row, after, before, update: whole ? row.update : null };
}
