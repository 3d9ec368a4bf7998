/**
 * The checker of the torture test of webhooks, a separate program: `node test/torture/webhooks/checker.ts <folder>`. It
 * reads the records of receivers, the acknowledged writes, the rows of the log, and what was in flight at each kill.
 * Every matching event must have arrived at every endpoint, redacted to what its creator may read; nothing else may
 * have; a repetition of an accepted delivery must have been in flight at a kill; and first arrivals of an ordered
 * endpoint follow the log, document by document. It shares only the form of an event with the product.
 */
import { readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import type { ReceivedLine } from './receivers.ts';

type State = Readonly<Record<string, unknown>> | null;

/** One line of `rows.jsonl`: a change of a document, as in the log. */
export interface RowLine {
  readonly id: string;
  readonly number: number;
  readonly type: string;
  readonly document: string;
  readonly data: State;
  readonly before: State;
}

/** The subscription of an endpoint, in `endpoints.json`. */
export interface EndpointRequest {
  readonly name: string;
  /** Events after this row of the log. */
  readonly from: number;
  /** Only documents with at least this `n`, before or after. */
  readonly least: number | null;
  /** Its creator sees only documents of this team, without `secret`. */
  readonly team: string | null;
  readonly ordered: boolean;
}

export interface WebhookVerdict {
  /** Empty: everything is correct. */
  readonly issues: readonly string[];
  readonly acknowledged: number;
  readonly due: number;
  readonly received: number;
  readonly failed: number;
  readonly repeats: number;
  readonly inFlight: number;
}

/**
 * @param folder where the run wrote its files
 * @param repeatsAnywhere whether deliveries in flight at no kill may come again, as from a service that lost them
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
  const endpoints: readonly EndpointRequest[] = JSON.parse(readFileSync(`${folder}/endpoints.json`, 'utf8'));
  const issues: string[] = [];
  let due = 0;

  const written = new Set(rows.map(({ data }) => data?.['w']));
  const unheard = acks.filter((w) => !written.has(w));
  if (unheard.length > 0)
    issues.push(`${unheard.length} acknowledged writes are not in the log: ${unheard.slice(0, 5)}`);

  for (const endpoint of endpoints) {
    const came = Map.groupBy(
      received.filter((line) => line.endpoint === endpoint.name),
      ({ id }) => id,
    );
    const requested = new Map(
      rows.flatMap((row) => {
        const expected = row.number > endpoint.from ? expectedOf(row, endpoint) : null;
        return expected === null ? [] : [[row.id, expected] as const];
      }),
    );
    due += requested.size;
    const say = (what: string, ids: readonly string[]) => {
      if (ids.length > 0) issues.push(`${endpoint.name}: ${ids.length} ${what}: ${ids.slice(0, 3).join(' | ')}`);
    };
    say(
      'did not arrive',
      [...requested.keys()].filter((id) => !came.get(id)?.some(({ fate }) => fate === 'fine')),
    );
    say(
      'should not have come',
      [...came.keys()].filter((id) => !requested.has(id)),
    );
    say(
      'have another body',
      [...came].flatMap(([id, attempts]) => {
        const wrong = attempts.find(({ body }) => !isDeepStrictEqual(statesOf(JSON.parse(body)), requested.get(id)));
        return wrong === undefined || !requested.has(id)
          ? []
          : [`${wrong.body} and not ${JSON.stringify(requested.get(id))}`];
      }),
    );
    say(
      'have another id in the body',
      [...came].flatMap(([id, attempts]) => (attempts.some(({ body }) => JSON.parse(body).id !== id) ? [id] : [])),
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
    issues.push(
      `${strange.length} came again that were in flight at no kill: ${strange.slice(0, 3).map(([key]) => key)}`,
    );
  if (repeats > inFlight.length && !repeatsAnywhere)
    issues.push(`${repeats} repeats, and ${inFlight.length} were in flight at kills`);
  const failed = received.filter(({ fate }) => fate !== 'fine').length;
  return {
    issues,
    acknowledged: acks.length,
    due,
    received: received.length,
    failed,
    repeats,
    inFlight: inFlight.length,
  };
}

/** The expected body of a row for an endpoint; null for none. */
function expectedOf(row: RowLine, { least, team }: EndpointRequest): readonly [State, State] | null {
  const seen = [row.data, row.before].map((state) =>
    state === null || (team !== null && state['team'] !== team) ? null : cut(state, team),
  );
  const [data = null, before = null] = seen;
  const isRequested = seen.some((state) => state !== null && (least === null || Number(state['n']) >= least));
  return isRequested ? [data, before] : null;
}

function cut(state: NonNullable<State>, team: string | null): State {
  const { secret, ...rest } = state;
  return team === null ? state : rest;
}

function statesOf({ data, before }: { data: State; before: State }): readonly [State, State] {
  return [plain(data), plain(before)];
}

/** Without the server's fields. */
export function plain(state: State): State {
  if (state === null) return null;
  const { _meta, ...rest } = state;
  return rest;
}

/** Events that first arrived before an earlier one of the same document. */
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
  process.exit(verdict.issues.length === 0 ? 0 : 1);
}
