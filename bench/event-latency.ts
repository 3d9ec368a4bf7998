/**
 * The time from a write to its row in the event log. Documents are created over HTTP at a steady rate, and a tail in
 * this process (not the recorder's process) records when each row arrives. For comparison, the bare handler gets the
 * same rate of writes; only its response times can be measured. `--rate 500 --rounds 5 --seconds 3`.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { BSON } from 'mongodb';
import { startEmbeddedDatabase } from '../src/database/embedded/embedded.ts';
import { connectMongo } from '../src/database/mongo.ts';
import { EventLog } from '../src/events/log/event-log.ts';
import { LogTail } from '../src/events/log/log-tail.ts';
import { type Program, startBare, startOurs } from './programs.ts';
import { machine, median } from './rounds.ts';
import { quantile, writeSteadily } from './steady.ts';

const { values } = parseArgs({
  options: {
    rate: { type: 'string', default: '500' },
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '3' },
  },
});
const rate = Number(values.rate);
const count = rate * Number(values.seconds);

const folder = await mkdtemp(join(tmpdir(), 'millrace-bench-'));
const database = await startEmbeddedDatabase({ folder });
const programs: Program[] = [];
try {
  const ours = await startOurs(database.url, 'ours');
  const reference = await startBare(database.url, 'bare');
  programs.push(ours, reference);
  const mongo = await connectMongo({ url: database.url, database: 'ours' });
  const tail = new LogTail({ log: new EventLog(mongo.log, 'ours') });
  const reported = new Map<string, number>();
  tail.attach({
    rows: (rows) => {
      const now = performance.now();
      for (const { key } of rows) if (key) reported.set(String(BSON.deserialize(key)['_id']), now);
    },
  });
  await tail.start();
  console.log(
    `${machine()}, MongoDB ${database.version}, ${rate} writes/s for ${values.seconds} s, load ${loadavg()[0]}`,
  );
  const rounds: { row: number; row99: number; response: number; bare: number }[] = [];
  for (let round = 0; round <= Number(values.rounds); round++) {
    const sent = new Map<string, number>();
    const responses = await writeSteadily(ours, rate, count, (id, at) => sent.set(id, at));
    while ([...sent.keys()].some((id) => !reported.has(id))) await pause(5);
    const rows = [...sent].map(([id, at]) => (reported.get(id) ?? Number.NaN) - at);
    const others = await writeSteadily(reference, rate, count, () => undefined);
    // The first round is a warm-up.
    if (round === 0) continue;
    const figures = {
      row: quantile(rows, 0.5),
      row99: quantile(rows, 0.99),
      response: quantile(responses, 0.5),
      bare: quantile(others, 0.5),
    };
    rounds.push(figures);
    console.log(
      `to the row p50 ${figures.row.toFixed(1)} p99 ${figures.row99.toFixed(1)} ms; response p50 ${figures.response.toFixed(1)} ms; bare handler response p50 ${figures.bare.toFixed(1)} ms`,
    );
  }
  console.log(`median of p50 to the row: ${median(rounds.map(({ row }) => row)).toFixed(1)} ms`);
  await tail.stop();
  await mongo.close();
} finally {
  await Promise.all(programs.map((program) => program.stop()));
  await database.stop();
  await rm(folder, { recursive: true, force: true });
}
