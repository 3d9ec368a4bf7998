/**
 * The checker of the torture of webhooks, a program of its own: `node test/torture/webhooks/checker.ts <folder>`. It reads
 * what receivers wrote down, what writers were acknowledged, the rows of the log, and what was in flight at each kill. Every
 * matching event must have arrived at every endpoint, cut as its maker may read it; nothing else may have; what arrived again
 * after it was taken must have been in flight at a kill; and first arrivals of an ordered endpoint follow the log, document
 * by document. It knows nothing of the product's code but the form of an event.
 */
import { readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import type { ReceivedLine } from './receivers.ts';

type State = Readonly<Record<string, unknown>> | null;

/** One line of `rows.jsonl`: a change of a document, as the log has it. */
export interface RowLine {
  readonly id: string;
  readonly number: number;
  readonly type: string;
  readonly document: string;
  readonly data: State;
  readonly before: State;
}

/** What an endpoint asks for, in `endpoints.json`. */
export interface AskedEndpoint {
  readonly name: string;
  /** Events after this row of the log. */
  readonly from: number;
  /** Only documents with at least this `n`, before or after. */
  readonly least: number | null;
  /** Its maker sees only documents of this team, without `secret`. */
  readonly team: string | null;
  readonly ordered: boolean;
}

export interface WebhookVerdict {
  /** Nothing in it: all held. */
  readonly faults: readonly string[];
  readonly acknowledged: number;
  readonly due: number;
  readonly received: number;
  readonly failed: number;
  readonly repeats: number;
  readonly inFlight: number;
}

/**
 * @param folder where the run wrote its files
 * @param repeatsAnywhere whether what was in flight at no kill may come again, as by a service that lost it
 */
export function check(folder: string, repeatsAnywhere = false): WebhookVerdict {
  const lines = <T>(name: string): T[] =>
    readFileSync(`${folder}/${name}`, 'utf8')
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line));
  const [received, rows, acks] = [
    lines<ReceivedLine>('received.jsonl'),
    lines<RowLine>('rows.jsonl'),
    lines<number>('acks.jsonl'),
  ];
  const inFlight = lines<readonly string[]>('kills.jsonl').flat();
  const endpoints: readonly AskedEndpoint[] = JSON.parse(readFileSync(`${folder}/endpoints.json`, 'utf8'));
  const faults: string[] = [];
  let due = 0;

  const written = new Set(rows.map(({ data }) => data?.['w']));
  const unheard = acks.filter((w) => !written.has(w));
  if (unheard.length > 0)
    faults.push(`${unheard.length} acknowledged writes are not in the log: ${unheard.slice(0, 5)}`);

  for (const endpoint of endpoints) {
    const came = Map.groupBy(
      received.filter((line) => line.endpoint === endpoint.name),
      ({ id }) => id,
    );
    const asked = new Map(
      rows.flatMap((row) => {
        const expected = row.number > endpoint.from ? expectedOf(row, endpoint) : null;
        return expected === null ? [] : [[row.id, expected] as const];
      }),
    );
    due += asked.size;
    const say = (what: string, ids: readonly string[]) => {
      if (ids.length > 0) faults.push(`${endpoint.name}: ${ids.length} ${what}: ${ids.slice(0, 3).join(' | ')}`);
    };
    say(
      'did not arrive',
      [...asked.keys()].filter((id) => !came.get(id)?.some(({ fate }) => fate === 'fine')),
    );
    say(
      'should not have come',
      [...came.keys()].filter((id) => !asked.has(id)),
    );
    say(
      'hold something else',
      [...came].flatMap(([id, tries]) => {
        const wrong = tries.find(({ body }) => !isDeepStrictEqual(statesOf(JSON.parse(body)), asked.get(id)));
        return wrong === undefined || !asked.has(id) ? [] : [`${wrong.body} and not ${JSON.stringify(asked.get(id))}`];
      }),
    );
    say(
      'have another id in the body',
      [...came].flatMap(([id, tries]) => (tries.some(({ body }) => JSON.parse(body).id !== id) ? [id] : [])),
    );
    if (endpoint.ordered) say('came before an earlier one of their document', inverted(came, rows));
  }

  const taken = Map.groupBy(
    received.filter(({ fate }) => fate === 'fine'),
    ({ endpoint, id }) => `${endpoint} ${id}`,
  );
  const repeated = [...taken].filter(([, { length }]) => length > 1);
  const repeats = repeated.reduce((sum, [, { length }]) => sum + length - 1, 0);
  const known = new Set(inFlight);
  const strange = repeated.filter(([key]) => !known.has(key));
  if (strange.length > 0 && !repeatsAnywhere)
    faults.push(
      `${strange.length} came again that were in flight at no kill: ${strange.slice(0, 3).map(([key]) => key)}`,
    );
  if (repeats > inFlight.length && !repeatsAnywhere)
    faults.push(`${repeats} repeats, and ${inFlight.length} were in flight at kills`);
  const failed = received.filter(({ fate }) => fate !== 'fine').length;
  return {
    faults,
    acknowledged: acks.length,
    due,
    received: received.length,
    failed,
    repeats,
    inFlight: inFlight.length,
  };
}

/** What an endpoint must be sent of a row; null when nothing. */
function expectedOf(row: RowLine, { least, team }: AskedEndpoint): readonly [State, State] | null {
  const seen = [row.data, row.before].map((state) =>
    state === null || (team !== null && state['team'] !== team) ? null : cut(state, team),
  );
  const [data = null, before = null] = seen;
  const isAsked = seen.some((state) => state !== null && (least === null || Number(state['n']) >= least));
  return isAsked ? [data, before] : null;
}

function cut(state: NonNullable<State>, team: string | null): State {
  const { secret, ...rest } = state;
  return team === null ? state : rest;
}

function statesOf({ data, before }: { data: State; before: State }): readonly [State, State] {
  return [plain(data), plain(before)];
}

/** Without what the server keeps of it. */
export function plain(state: State): State {
  if (state === null) return null;
  const { _meta, ...rest } = state;
  return rest;
}

/** Events that came for the first time before an earlier one of the same document had come. */
function inverted(came: ReadonlyMap<string, readonly ReceivedLine[]>, rows: readonly RowLine[]): string[] {
  const last = new Map<string, { readonly at: number; readonly id: string }>();
  const wrong: string[] = [];
  for (const { id, document } of rows) {
    const at = came.get(id)?.[0]?.at;
    if (at === undefined) continue;
    const earlier = last.get(document);
    if (earlier !== undefined && earlier.at > at) wrong.push(`${id} before ${earlier.id} of ${document}`);
    last.set(document, { at, id });
  }
  return wrong;
}

if (process.argv[1] === import.meta.filename) {
  const verdict = check(process.argv[2] ?? '.');
  process.stdout.write(`${JSON.stringify(verdict)}\n`);
  process.exit(verdict.faults.length === 0 ? 0 : 1);
}
