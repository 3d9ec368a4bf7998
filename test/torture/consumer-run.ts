/**
 * Kills processes with a consumer, two at a time racing for the lease, while events arrive; then every insert must have
 * exactly one output. `node test/torture/consumer-run.ts 100`.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Fixture } from '../helpers/events/event-fixture.ts';
import { until } from '../helpers/until.ts';

export interface ConsumerVerdict {
  readonly kills: number;
  readonly events: number;
  readonly outputs: number;
  readonly missing: number;
}

const MAX_EVENTS = 4000;
const SCRIPT = fileURLToPath(new URL('./log/consumer-node.ts', import.meta.url));

/** Needs a fixture with a recording process. */
export async function tortureConsumer(fixture: Fixture, kills: number, random: () => number): Promise<ConsumerVerdict> {
  const source = fixture.mongo.data.collection('source');
  const outputs = fixture.mongo.log.collection<{ _id: string; event: number }>('outputs');
  const newest = await fixture.log.newest();
  await fixture.mongo.log
    .collection<{ _id: string; epoch: number; number: number }>('consumers')
    .insertOne({ _id: 'torture', epoch: newest?.epoch ?? 1, number: newest?.number ?? 0 });
  const start = async () => {
    const child = spawn(process.execPath, [SCRIPT, fixture.url, fixture.database], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await Promise.race([once(child.stdout, 'data'), once(child, 'exit')]);
    return child;
  };
  const children = await Promise.all([start(), start()]);
  let written = 0;
  let writing = true;
  const writer = (async () => {
    while (writing && written < MAX_EVENTS) {
      await source.insertMany(Array.from({ length: 20 }, () => ({ n: written++ })));
      await pause(20 + random() * 60);
    }
  })();
  for (let count = 0; count < kills; count += 1) {
    await pause(random() * 500);
    const index = random() < 0.5 ? 0 : 1;
    const child = children[index];
    child?.kill('SIGKILL');
    if (child && child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    children[index] = await start();
  }
  writing = false;
  await writer;
  await until(async () => (await outputs.countDocuments()) >= written, 'the outputs are there', 60_000).catch(() => {});
  for (const child of children) child.kill('SIGKILL');
  const rows = await allInserts(fixture);
  const created = new Set((await outputs.find().toArray()).map((one) => one.event));
  return {
    kills,
    events: written,
    outputs: await outputs.countDocuments(),
    missing: rows.filter((number) => !created.has(number)).length,
  };
}

async function allInserts(fixture: Fixture): Promise<number[]> {
  const numbers: number[] = [];
  for (let after = 0; ; ) {
    const rows = await fixture.log.read(after, 5000);
    if (rows.length === 0) return numbers;
    numbers.push(
      ...rows.filter((row) => row.operation === 'insert' && row.collection === 'source').map((row) => row.number),
    );
    after = rows.at(-1)?.number ?? after;
  }
}
