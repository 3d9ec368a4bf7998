/** Stored runs for tests. */
import type { RunRow } from '../../../src/functions/runs/run-row.ts';

/** A succeeded run; `n` gives it an id and, in seconds, its age relative to others. */
export function runRow(n: number, fields: Partial<RunRow> = {}): RunRow {
  const createdAt = new Date(Date.UTC(2026, 0, 1) + n * 1_000);
  return {
    _id: `run_${String(n).padStart(4, '0')}`,
    plugin: 'shop',
    function: 'total',
    version: '1',
    kind: 'trigger',
    state: 'succeeded',
    createdAt,
    startedAt: createdAt,
    durationMs: 1,
    cpuMs: 1,
    attempts: 1,
    event: null,
    error: null,
    restricted: false,
    depth: 1,
    logs: [],
    operations: [],
    input: '{}',
    inputBytes: 2,
    result: null,
    resultBytes: 0,
    ...fields,
  };
}
