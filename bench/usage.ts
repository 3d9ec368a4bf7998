/**
 * The resources that a running program has used, read from Linux: nothing runs inside the program, so measuring does
 * not slow it down.
 */
import { readdirSync, readFileSync } from 'node:fs';

/** Clock ticks of /proc in one second; Linux has 100 on every platform that Node runs on. */
const TICKS = 100;

/** CPU time, user and system, in seconds (proc_pid_stat(5), fields 14 and 15). */
export function cpuSeconds(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS;
}

/** Resident memory in bytes, without what the kernel holds for sockets (proc_pid_status(5)). */
export function residentBytes(pid: number): number {
  const kib = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Number(kib) * 1024;
}

/** Running child processes of a process, and their children (proc_pid_stat(5), field 4). */
export function descendants(pid: number): readonly number[] {
  const children = readdirSync('/proc').flatMap((entry) =>
    /^\d+$/.test(entry) && parentOf(entry) === pid ? [Number(entry)] : [],
  );
  return children.flatMap((child) => [child, ...descendants(child)]);
}

function parentOf(entry: string): number | null {
  try {
    const stat = readFileSync(`/proc/${entry}/stat`, 'utf8');
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
  } catch {
    // It has ended since the folder was read.
    return null;
  }
}
