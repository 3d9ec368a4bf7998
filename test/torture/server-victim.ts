/** A server of the product under the nemesis: killed, started again, frozen. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Program } from '../helpers/programs/millrace.ts';
import type { Victim } from './nemesis.ts';

/** @param programs the servers, in which a new one replaces a killed one */
export function serverVictim(programs: Program[], index: number, start: (index: number) => Promise<Program>): Victim {
  const child = () => programs[index]?.child;
  return {
    name: String(index),
    pid: () => child()?.pid ?? 0,
    kill: async () => {
      await programs[index]?.end('SIGKILL');
      // A database that is just restarting rejects early clients.
      programs[index] = await start(index).catch(() => pause(1_000).then(() => start(index)));
    },
    freeze: () => void child()?.kill('SIGSTOP'),
    thaw: () => void child()?.kill('SIGCONT'),
  };
}
