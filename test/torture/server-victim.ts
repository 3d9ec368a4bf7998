/** A server of the product as the nemesis hurts it: killed, started again, frozen. Not here: when (nemesis.ts). */
import { setTimeout as pause } from 'node:timers/promises';
import type { Program } from '../helpers/programs/millrace.ts';
import type { Victim } from './nemesis.ts';

/** @param programs the servers, in which a new one takes the place of one that was killed */
export function serverVictim(programs: Program[], index: number, start: (index: number) => Promise<Program>): Victim {
  const child = () => programs[index]?.child;
  return {
    name: String(index),
    pid: () => child()?.pid ?? 0,
    kill: async () => {
      await programs[index]?.end('SIGKILL');
      // A database that is just coming back sends away who comes too early.
      programs[index] = await start(index).catch(() => pause(1_000).then(() => start(index)));
    },
    freeze: () => void child()?.kill('SIGSTOP'),
    thaw: () => void child()?.kill('SIGCONT'),
  };
}
