/**
 * The final check: the log against a fresh change stream from its first token, token for token; every acknowledged
 * write recorded exactly once; every reader received a contiguous part of that same log. It only reads.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { BSON } from 'mongodb';
import { readChangeStream } from '../../../src/database/cursors/change-stream.ts';
import type { Mongo } from '../../../src/database/mongo.ts';
import type { EventLog } from '../../../src/events/log/event-log.ts';
import type { LogRow } from '../../../src/events/log/log-row.ts';
import { LogRowBuilder } from '../../../src/events/record/log-row-builder.ts';

export interface Verdict {
  /** Empty: everything is correct. */
  readonly issues: string[];
  readonly rows: number;
  readonly acknowledged: number;
  readonly sessions: number;
  readonly reported: number;
  /** Latest row of a killed reader's file and the like, for the figures. */
  readonly kinds: Readonly<Record<string, number>>;
}

/** The required content of a row; bodies are the stream's own bytes and need no second check. */
const essence = (row: LogRow) =>
  `${row.token} ${row.operation} ${row.collection} ${row.transaction?.id}/${row.transaction?.index}/${row.transaction?.last}`;
const describeRow = (row: LogRow) =>
  `${row.operation} ${row.collection} ${row.key === null ? '-' : String(BSON.deserialize(row.key)['_id'])}`;

export async function check(mongo: Mongo, log: EventLog, folder: string, partial: boolean): Promise<Verdict> {
  const issues: string[] = [];
  const issue = (text: string) => {
    if (issues.length < 50) issues.push(text);
  };
  const rows = await everyRow(log);
  const first = rows[0];
  if (first === undefined)
    return { issues: ['The log is empty'], rows: 0, acknowledged: 0, sessions: 0, reported: 0, kinds: {} };
  const floor = partial ? await log.floor() : 0;
  for (const [index, row] of rows.entries()) {
    if (row.number !== first.number + index) {
      issue(`Row ${first.number + index} is missing, ${row.number} follows`);
      break;
    }
  }
  for (const row of rows) if (row.operation === 'gap') issue(`Row ${row.number} is a gap`);
  const expected = partial ? [] : await fresh(mongo, rows);
  for (const [index, row] of expected.entries()) {
    const stored = rows[index + 1];
    if (stored === undefined) issue(`Lost: the stream has ${describeRow(row)}, the log ends`);
    else if (essence(stored) !== essence(row))
      issue(`Row ${stored.number} is ${essence(stored)}, the stream has ${essence(row)}`);
    if (issues.length > 0) break;
  }
  if (!partial && rows.length > expected.length + 1)
    issue(`The log has ${rows.length - 1 - expected.length} rows too many`);

  const counts = new Map<string, number>();
  const kinds: Record<string, number> = {};
  for (const row of rows) {
    counts.set(describeRow(row), (counts.get(describeRow(row)) ?? 0) + 1);
    kinds[row.operation] = (kinds[row.operation] ?? 0) + 1;
  }
  const acks = lines(folder, 'acks-');
  if (!partial) {
    for (const one of acks.flatMap(([, all]) => all)) {
      const count = counts.get(one) ?? 0;
      if (count !== 1) issue(`Acknowledged, but recorded ${count} times: ${one}`);
    }
  }
  const reported = readers(folder, new Map(rows.map((row) => [row.number, row])), floor, partial, issue);
  return {
    issues,
    rows: rows.length,
    acknowledged: acks.reduce((sum, [, all]) => sum + all.length, 0),
    kinds,
    ...reported,
  };
}

async function everyRow(log: EventLog): Promise<LogRow[]> {
  const all: LogRow[] = [];
  for (let after = 0; ; ) {
    const rows = await log.read(after, 5000);
    if (rows.length === 0) return all;
    for (const row of rows) all.push({ ...row, after: null, before: null, update: null });
    after = rows.at(-1)?.number ?? after;
  }
}

/** The rows that an undisturbed recorder would make. */
async function fresh(mongo: Mongo, rows: readonly LogRow[]): Promise<LogRow[]> {
  const [first] = rows;
  const last = rows.at(-1);
  if (first === undefined || last === undefined) return [];
  const creator = new LogRowBuilder(first);
  const all: LogRow[] = [];
  const end = new AbortController();
  const stream = readChangeStream({
    db: mongo.data,
    full: true,
    from: { after: first.token },
    signal: end.signal,
    responseMs: () => 60_000,
  });
  for await (const reply of stream) {
    for (const row of creator.rows(reply.changes, reply.bytes < 12 * 1024 * 1024))
      all.push({ ...row, after: null, before: null, update: null });
    if (reply.token !== null && reply.token > last.token && reply.changes.length === 0) break;
  }
  return all;
}

function readers(
  folder: string,
  rows: ReadonlyMap<number, LogRow>,
  floor: number,
  partial: boolean,
  issue: (text: string) => void,
): { sessions: number; reported: number } {
  let reported = 0;
  const sessions = lines(folder, 'reader-');
  const tokens = new Map<number, string>();
  for (const [name, entries] of sessions) {
    let next: number | null = null;
    for (const entry of entries) {
      if (entry.startsWith('from ')) next ??= Number(entry.slice(5)) + 1;
      else if (entry === 'lost') {
        next = null;
        if (!partial) issue(`${name} was notified of lost rows`);
      } else {
        const [number = 0, token = ''] = [Number(entry.split(' ')[0]), entry.split(' ')[2]];
        if (next !== null && number !== next) issue(`${name} received ${number} where ${next} comes`);
        const known = rows.get(number)?.token ?? tokens.get(number);
        if (known !== undefined && known !== token) issue(`${name} received another row ${number}`);
        if (known === undefined && !partial) issue(`${name} received row ${number}, which is not in the log`);
        if (number >= floor) tokens.set(number, token);
        next = number + 1;
        reported += 1;
      }
    }
  }
  return { sessions: sessions.length, reported };
}

/** The complete lines of the files with a prefix; a line that a kill cut off does not count. */
function lines(folder: string, prefix: string): [string, string[]][] {
  return readdirSync(folder)
    .filter((name) => name.startsWith(prefix))
    .map((name) => [name, readFileSync(join(folder, name), 'utf8').split('\n').slice(0, -1)]);
}
