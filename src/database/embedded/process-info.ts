/**
 * Other processes: whether a pid is alive, when it started, its parent, and how to end it. Read from /proc on Linux and
 * from `ps` on other Unixes; on Windows nothing is known, and MongoDB's own file lock decides.
 */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { kill, platform } from 'node:process';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';

/** A running process. */
export interface ProcessInfo {
  readonly pid: number;
  /** The pid of its parent. */
  readonly parent: number;
  /** When it started, in the system's format. Pids are reused, so only pid and start together identify a process. */
  readonly started: string;
  /** Its command line, with its words separated by NUL (Linux) or by spaces. Empty while it is exiting. */
  readonly command: string;
}

const POLL_MS = 25;
const run = promisify(execFile);

/** Looks up one process; `null` if there is none, or if it is a zombie. */
export async function findProcess(pid: number): Promise<ProcessInfo | null> {
  if (!Number.isSafeInteger(pid) || pid <= 0 || platform === 'win32') return null;
  try {
    return platform === 'linux' ? await fromProc(pid) : await fromPs(pid);
  } catch {
    return null;
  }
}

/**
 * Reads /proc/<pid>/stat, see proc(5): state is the 3rd field, ppid the 4th, num_threads the 20th, starttime the 22nd.
 * A killed process has state Z when its first thread has ended; its files stay open until the others have, too.
 */
async function fromProc(pid: number): Promise<ProcessInfo | null> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const command = await readFile(`/proc/${pid}/cmdline`, 'utf8');
  if ((fields[0] === 'Z' && Number(fields[17]) <= 1) || fields[0] === 'X') return null;
  return { pid, parent: Number(fields[1]), started: fields[19] ?? '', command };
}

async function fromPs(pid: number): Promise<ProcessInfo | null> {
  const { stdout } = await run('ps', ['-ww', '-o', 'ppid=,stat=,lstart=,command=', '-p', String(pid)]);
  const match = /^\s*(\d+)\s+(\S+)\s+(\w+\s+\w+\s+\d+\s+[\d:]+\s+\d+)\s+(.*)$/.exec(stdout.trimEnd());
  if (match === null || match[2]?.startsWith('Z')) return null;
  return { pid, parent: Number(match[1]), started: (match[3] ?? '').replace(/\s+/g, '-'), command: match[4] ?? '' };
}

/** Sends a signal to a process; `false` if it has ended already or belongs to another user. */
export function sendSignal(pid: number, name: 'SIGTERM' | 'SIGKILL'): boolean {
  try {
    return kill(pid, name);
  } catch {
    return false;
  }
}

/** Waits until exactly this process has ended; `false` if it is still running after `limitMs`. */
export async function waitForProcessExit(program: ProcessInfo, limitMs: number): Promise<boolean> {
  for (const end = Date.now() + limitMs; ; await delay(POLL_MS)) {
    const now = await findProcess(program.pid);
    if (now === null || now.started !== program.started) return true;
    if (Date.now() >= end) return false;
  }
}
