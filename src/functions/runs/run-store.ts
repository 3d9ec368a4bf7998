/** Runs in `<db>_log.runs`: insert, list and find. */
import type { Collection, Document, IndexDescription } from 'mongodb';
import { NEWEST_FIRST, olderThanCursor, pageWithCursor } from '../../database/cursors/newest-first.ts';
import { withTranslatedErrors } from '../../database/errors.ts';
import { insertNew } from '../../database/insert-new.ts';
import type { Mongo } from '../../database/mongo.ts';
import { EXPIRY_INDEX } from '../../queue/job-collection.ts';
import type { Run, RunState } from './run.ts';
import { type ListedRun, RUNS_COLLECTION, type RunRow, toRun } from './run-row.ts';

/** A list filtered by rare values may examine many runs. */
const LIST_MS = 10_000;

const WITHOUT_DETAILS = { logs: 0, operations: 0, input: 0, result: 0 } as const;

const INDEXES: readonly IndexDescription[] = [
  // Lists: of all, of a plugin, of a function, of a state, of an event.
  { key: NEWEST_FIRST },
  { key: { plugin: 1, ...NEWEST_FIRST } },
  { key: { plugin: 1, function: 1, ...NEWEST_FIRST } },
  { key: { state: 1, ...NEWEST_FIRST } },
  { key: { event: 1 }, partialFilterExpression: { event: { $type: 'string' } } },
  EXPIRY_INDEX,
];

export interface RunQuery {
  readonly plugin?: string;
  readonly function?: string;
  readonly state?: RunState;
  /** Id of the event of a trigger. */
  readonly event?: string;
  readonly limit: number;
  /** From the previous page. */
  readonly cursor?: string;
}

export interface RunPage {
  readonly runs: readonly Run[];
  /** The cursor of the next page; null at the end. */
  readonly next: string | null;
}

export class RunStore {
  readonly #rows: Collection<RunRow>;

  constructor({ log }: Pick<Mongo, 'log'>) {
    this.#rows = log.collection<RunRow>(RUNS_COLLECTION);
  }

  /** Creates the collection and its indexes. */
  async prepare(): Promise<void> {
    await withTranslatedErrors(() => this.#rows.createIndexes([...INDEXES]));
  }

  /** Inserts runs. A run whose id exists is left unchanged. */
  async insert(documents: readonly RunRow[]): Promise<void> {
    await insertNew(this.#rows, documents);
  }

  /**
   * Newest first.
   * @throws MillraceError `cursor-mismatch`, `query-timeout`
   */
  async list({ limit, cursor, ...fields }: RunQuery): Promise<RunPage> {
    const parts: Document[] = Object.entries(fields).map(([name, value]) => ({ [name]: value }));
    if (cursor !== undefined) parts.push(...olderThanCursor(cursor));
    const rows = await withTranslatedErrors(() =>
      this.#rows
        .find(parts.length === 0 ? {} : { $and: parts }, {
          projection: WITHOUT_DETAILS,
          sort: NEWEST_FIRST,
          limit: limit + 1,
          maxTimeMS: LIST_MS,
        })
        .toArray(),
    );
    const [page, next] = pageWithCursor<ListedRun>(rows, limit);
    return { runs: page.map(toRun), next };
  }

  async findAll(ids: readonly string[]): Promise<readonly RunRow[]> {
    return await withTranslatedErrors(() => this.#rows.find({ _id: { $in: [...ids] } }).toArray());
  }

  async find(id: string): Promise<RunRow | null> {
    return await withTranslatedErrors(() => this.#rows.findOne({ _id: id }));
  }
}
