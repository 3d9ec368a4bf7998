/**
 * `npm run board`: fills the departures of the example page and replays their day faster than in real time. Flights
 * change over HTTP as from an application; with `--mongodb` every fourth change is written directly to the database.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { MongoClient } from 'mongodb';
import { createClient, MillraceError } from '../client/client.ts';
import { type Departure, departures, type Turn, turns } from './board-day.ts';
import { SEED_SETS } from './seed-sets.ts';

const TICK_MS = 100;
const BULK = 1_000;
const AWAY_MS = 500;

const HELP = `Fills the board of departures and simulates a day.

Usage: npm run board -- [--url http://127.0.0.1:3000] [--flights 5000] [--minutes 10] [--mongodb mongodb://…/database]

  --flights   number of flights of the day
  --minutes   duration of the day
  --mongodb   makes every fourth change directly in the database, as another program would

Open it in a browser: http://127.0.0.1:3000/examples/board/
`;

const { values } = parseArgs({
  options: {
    url: { type: 'string', default: 'http://127.0.0.1:3000' },
    flights: { type: 'string', default: '5000' },
    minutes: { type: 'string', default: '10' },
    mongodb: { type: 'string' },
    help: { type: 'boolean', short: 'h', default: false },
  },
});

const client = createClient(values.url);
const board = client.collection<Departure>('departures');

async function fill(flights: readonly Departure[]): Promise<void> {
  process.stdout.write(`Filling ${values.url}/examples/board/ with ${flights.length} flights\n`);
  for (let at = 0; at < flights.length; at += BULK) {
    const response = await fetch(`${values.url}/api/departures`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(flights.slice(at, at + BULK)),
    });
    if (!response.ok) throw new Error(`The server returned ${response.status}: ${await response.text()}`);
  }
}

/** Deletes the flights of an earlier run. */
async function clear(): Promise<void> {
  try {
    while ((await board.list({ limit: 1 })).documents.length > 0) {
      await fetch(`${values.url}/api/departures?${new URLSearchParams({ filter: '{}' })}`, {
        method: 'DELETE',
        headers: { prefer: 'max-affected=10000' },
      }).then(async (response) => {
        if (!response.ok) throw new Error(`The server returned ${response.status}: ${await response.text()}`);
      });
    }
  } catch (error) {
    if (!(error instanceof MillraceError && error.code === 'resource-not-available')) throw error;
  }
}

async function pass(day: readonly Turn[], foreign: MongoClient | null): Promise<void> {
  const first = day[0]?.at ?? 0;
  const hours = (day.at(-1)?.at ?? 0) - first;
  const hoursPerMs = hours / (Number(values.minutes) * 60_000);
  const begun = performance.now();
  let done = 0;
  while (done < day.length) {
    const now = first + (performance.now() - begun) * hoursPerMs;
    for (let turn = day[done]; turn !== undefined && turn.at <= now; turn = day[++done]) {
      const { id, status } = turn;
      if (foreign === null || done % 4 > 0) await whenThere(() => board.patch(id, { status }));
      else await foreign.db().collection<{ _id: string }>('departures').updateOne({ _id: id }, { $set: { status } });
    }
    if (process.stdout.isTTY) process.stdout.write(`\r  ${clock(now)}  ${done} of ${day.length} changes`);
    await pause(TICK_MS);
  }
  process.stdout.write(`${process.stdout.isTTY ? '\r' : ''}  ${done} of ${day.length} changes\n`);
}

/** The server may be restarted in between: a request that does not reach it is sent again when it is back. */
async function whenThere<T>(send: () => Promise<T>): Promise<T> {
  for (let attempts = 0; ; attempts++) {
    try {
      return await send();
    } catch (error) {
      if (!isAway(error)) throw error;
      if (attempts === 0) process.stdout.write('\n  The server does not respond; waiting until it is back\n');
      await pause(AWAY_MS);
    }
  }
}

/** fetch throws a TypeError when there is no connection, or when it is lost (Fetch standard). */
const isAway = (error: unknown): boolean =>
  error instanceof TypeError || (error instanceof MillraceError && error.status === 503);

function whatFailed(error: unknown): string {
  if (isAway(error)) return `No server responds at ${values.url}. Start one: npm start`;
  if (!(error instanceof MillraceError)) throw error;
  const help = error.status === 401 ? '. The board is an example for development mode' : '';
  return `The server returned ${error.status}: ${error.message}${help}`;
}

function clock(hours: number): string {
  const minutes = Math.max(0, Math.floor(hours * 60));
  return `${String(Math.floor(minutes / 60)).padStart(2, '0')}:${String(minutes % 60).padStart(2, '0')}`;
}

if (values.help) process.stdout.write(HELP);
else {
  const foreign = values.mongodb === undefined ? null : await new MongoClient(values.mongodb).connect();
  try {
    const flights = departures(
      (await SEED_SETS.find(({ name }) => name === 'flights')?.read()) ?? [],
      Number(values.flights),
    );
    await clear();
    await fill(flights);
    await pass(turns(flights), foreign);
  } catch (error) {
    process.stderr.write(`${whatFailed(error)}\n`);
    process.exitCode = 1;
  } finally {
    await foreign?.close();
  }
}
