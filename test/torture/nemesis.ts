/**
 * The nemesis: kills and freezes processes, restarts servers, kills primaries, cuts primaries off from their majority.
 * A seed decides what it does; the exact time depends on the machine.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { MongoClient } from 'mongodb';
import type { Member, ReplicaSet } from '../helpers/database/replica-set.ts';

/** A server process that can be killed and restarted. */
export interface Victim {
  readonly name: string;
  pid(): number;
  /** Kills it (-9) and starts a new one. */
  kill(): Promise<void>;
  freeze(): void;
  thaw(): void;
}

export interface Deeds {
  kills: number;
  recorderKills: number;
  /** Kills that left a transaction open behind. */
  openKills: number;
  freezes: number;
  restarts: number;
  primaryKills: number;
  cuts: number;
}

export const noDeeds = (): Deeds => ({
  kills: 0,
  recorderKills: 0,
  openKills: 0,
  freezes: 0,
  restarts: 0,
  primaryKills: 0,
  cuts: 0,
});

/** How many transactions have been open for this many milliseconds. */
export async function openTransactions(client: MongoClient, milliseconds: number): Promise<number> {
  const stages = [
    { $currentOp: { allUsers: true, idleSessions: true } },
    { $match: { 'transaction.timeOpenMicros': { $gte: 1_000 * milliseconds } } },
  ];
  return (await client.db('admin').aggregate(stages).toArray()).length;
}

export interface NemesisOptions {
  readonly set: ReplicaSet;
  readonly victims: readonly Victim[];
  /** Name of the process that holds the recorder's lease. */
  readonly holder: () => Promise<string | null>;
  /** How many transactions have been open for this many milliseconds. */
  readonly openFor: (milliseconds: number) => Promise<number>;
  readonly random: () => number;
  readonly kills: number;
  readonly freezes: number;
  readonly longestFreezeMs: number;
  readonly restarts: number;
  readonly primaryKills: number;
  readonly cuts: number;
  readonly breathMs: number;
}

/** A transaction that is open for this long has no process that could end it, in milliseconds. */
const STALE_MS = 400;
/** How long a kill waits for an open transaction. */
const AIM_MS = 1_500;

type Deed = 'kill' | 'freeze' | 'restart' | 'primary' | 'cut';

/** Performs all its actions in a shuffled order; in the end everything runs again. */
export async function rage(options: NemesisOptions, deeds: Deeds): Promise<void> {
  const { set, random, breathMs } = options;
  const plan = shuffled(
    [
      ...Array<Deed>(options.kills).fill('kill'),
      ...Array<Deed>(options.freezes).fill('freeze'),
      ...Array<Deed>(options.restarts).fill('restart'),
      ...Array<Deed>(options.primaryKills).fill('primary'),
      ...Array<Deed>(options.cuts).fill('cut'),
    ],
    random,
  );
  const frozen = new Map<Victim, Promise<void>>();
  for (const deed of plan) {
    await pause(breathMs * (0.5 + random()));
    if (deed === 'restart') await restart(set.members[0], random, deeds);
    else if (deed === 'primary') await killPrimary(set, random, deeds);
    else if (deed === 'cut') await cut(set, random, deeds);
    else await hurt(options, deed, frozen, deeds);
  }
  await Promise.all(frozen.values());
}

async function hurt(
  options: NemesisOptions,
  deed: 'kill' | 'freeze',
  frozen: Map<Victim, Promise<void>>,
  deeds: Deeds,
) {
  const { victims, random } = options;
  const holder = random() < 0.6 ? await options.holder().catch(() => null) : null;
  const named = victims.find((one) => one.name === holder);
  const victim = named ?? victims[Math.floor(random() * victims.length)];
  if (victim === undefined) return;
  await frozen.get(victim);
  if (deed === 'kill') {
    await someOpen(options);
    await victim.kill();
    deeds.kills += 1;
    if (named) deeds.recorderKills += 1;
    // Living processes end theirs at once; a frozen one would look the same.
    if (frozen.size === 0 && (await options.openFor(STALE_MS).catch(() => 0)) > 0) deeds.openKills += 1;
    return;
  }
  // Many short freezes and a few long ones: from 0.1 s up, evenly by order of magnitude.
  const lasts = 100 * (options.longestFreezeMs / 100) ** random();
  victim.freeze();
  deeds.freezes += 1;
  frozen.set(
    victim,
    pause(lasts).then(() => {
      victim.thaw();
      frozen.delete(victim);
    }),
  );
}

/** Waits a moment for an open transaction somewhere, so that the kill may interrupt it. */
async function someOpen({ openFor }: NemesisOptions): Promise<void> {
  const until = performance.now() + AIM_MS;
  while (performance.now() < until && (await openFor(0).catch(() => 1)) === 0) await pause(2);
}

async function restart(member: Member | undefined, random: () => number, deeds: Deeds): Promise<void> {
  await member?.kill(random() < 0.5 ? 'SIGKILL' : 'SIGTERM');
  await pause(random() * 1000);
  await member?.start();
  deeds.restarts += 1;
}

async function killPrimary(set: ReplicaSet, random: () => number, deeds: Deeds): Promise<void> {
  const primary = await set.primary();
  await primary.kill();
  deeds.primaryKills += 1;
  await pause(1000 + random() * 3000);
  await primary.start();
}

/** The primary loses its majority, continues for a moment alone, and dies with writes that only it has. */
async function cut(set: ReplicaSet, random: () => number, deeds: Deeds): Promise<void> {
  const primary = await set.primary();
  const rest = set.members.filter((one) => one !== primary);
  // Killed, not frozen: what the primary sent to a frozen one stays in its socket, and is read when it continues.
  await Promise.all(rest.map((one) => one.kill()));
  await pause(50 + random() * 1200);
  await primary.kill();
  await Promise.all(rest.map((one) => one.start()));
  deeds.cuts += 1;
  await set.primary();
  await pause(500);
  await primary.start();
}

function shuffled<T>(all: readonly T[], random: () => number): T[] {
  const rest = [...all];
  for (let index = rest.length - 1; index > 0; index -= 1) {
    const other = Math.floor(random() * (index + 1));
    const [one, two] = [rest[index], rest[other]];
    if (one !== undefined && two !== undefined) [rest[index], rest[other]] = [two, one];
  }
  return rest;
}
