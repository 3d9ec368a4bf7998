/**
 * Looks at other running programs: whether a pid lives, since when, whose child it is, and how to end it.
 * Linux answers from /proc, other Unixes from `ps`; on Windows nothing is known and MongoDB's own file lock decides.
 * Not here: what the answers mean for a data folder (claim.ts).
 */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { kill, platform } from 'node:process';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';

/** A program that runs now. */
export interface RunningProgram {
  readonly pid: number;
  /** The pid of its parent. */
  readonly parent: number;
  /** When it started, in words of the system: with the pid it names one program for ever, since pids are used again. */
  readonly started: string;
  /** Its command line, the words parted by NUL (Linux) or by spaces. */
  readonly command: string;
}

const POLL_MS = 25;
const run = promisify(execFile);

/** Looks one program up; `null` when there is none, or when it has ended and only waits to be collected. */
export async function lookUp(pid: number): Promise<RunningProgram | null> {
  if (!Number.isSafeInteger(pid) || pid <= 0 || platform === 'win32') return null;
  try {
    return platform === 'linux' ? await fromProc(pid) : await fromPs(pid);
  } catch {
    return null;
  }
}

/** Fields of /proc/<pid>/stat as in proc(5): state is the 3rd, ppid the 4th, starttime the 22nd. */
async function fromProc(pid: number): Promise<RunningProgram | null> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const command = await readFile(`/proc/${pid}/cmdline`, 'utf8');
  if (fields[0] === 'Z' || fields[0] === 'X') return null;
  return { pid, parent: Number(fields[1]), started: fields[19] ?? '', command };
}

async function fromPs(pid: number): Promise<RunningProgram | null> {
  const { stdout } = await run('ps', ['-ww', '-o', 'ppid=,stat=,lstart=,command=', '-p', String(pid)]);
  const match = /^\s*(\d+)\s+(\S+)\s+(\w+\s+\w+\s+\d+\s+[\d:]+\s+\d+)\s+(.*)$/.exec(stdout.trimEnd());
  if (match === null || match[2]?.startsWith('Z')) return null;
  return { pid, parent: Number(match[1]), started: (match[3] ?? '').replace(/\s+/g, '-'), command: match[4] ?? '' };
}

/** Asks a program to end; `false` when it has gone already or belongs to another user. */
export function signal(pid: number, name: 'SIGTERM' | 'SIGKILL'): boolean {
  try {
    return kill(pid, name);
  } catch {
    return false;
  }
}

/** Waits until this very program has gone; `false` when it is still there after `limitMs`. */
export async function hasEnded(program: RunningProgram, limitMs: number): Promise<boolean> {
  for (const end = Date.now() + limitMs; ; await delay(POLL_MS)) {
    const now = await lookUp(program.pid);
    if (now === null || now.started !== program.started) return true;
    if (Date.now() >= end) return false;
  }
}
