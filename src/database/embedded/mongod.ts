/** Starts one mongod, and a watchdog that ends it when this program ends for any reason. */
import { type ChildProcess, spawn } from 'node:child_process';
import { pid, platform } from 'node:process';
import type { Readable } from 'node:stream';
import { MillraceError } from '../../lib/errors.ts';
import { WATCHDOG_MARKER } from './data-dir-lock.ts';
import { lastLogError, rotateMongodLog } from './mongod-log.ts';
import { findProcess, sendSignal } from './process-info.ts';

/** How a mongod ended. */
export interface MongodExit {
  readonly code: number | null;
  /** The reason in a few words without a period, from its log or its output. */
  readonly reason: string;
}

export interface Mongod {
  readonly pid: number;
  readonly exited: Promise<MongodExit>;
  /** Ends it cleanly, or after 10 s by force; may be called again. */
  stop(): Promise<MongodExit>;
}

const STOP_LIMIT_MS = 10_000;
const OUTPUT_LIMIT = 4000;

/**
 * The watchdog, a shell script. It reads from a pipe that this program keeps open. The read ends when the program ends
 * for any reason, and then the watchdog terminates mongod. It has not yet reaped mongod at that moment, so the pid
 * cannot belong to another process. Its first argument names its program; data-dir-lock.ts reads that.
 */
const SCRIPT = `shift 2
exec 3<&0 </dev/null
"$@" 3<&- &
echo $!
exec 1>&- 2>&-
read -r _ <&3
kill -TERM $!
wait $!`;

/** Starts mongod with `args`, in a session of its own, so that Ctrl-C in a terminal reaches only this program. */
export async function spawnMongod(binary: string, args: readonly string[], log: string): Promise<Mongod> {
  const since = await rotateMongodLog(log);
  const child = platform === 'win32' ? launch(binary, args) : await launchWatched([binary, ...args]);
  let complaint = '';
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    complaint = (complaint + chunk).slice(-OUTPUT_LIMIT);
  });
  // The pipe breaks when the watchdog has ended; its exit is handled below.
  child.stdin.on('error', () => {});
  const exited = new Promise<MongodExit>((resolve) => {
    child.once('close', async (code) => {
      const said = (await lastLogError(log, since)) ?? complaint.trim().split('\n').at(-1);
      resolve({ code, reason: code === 0 ? 'it was stopped' : said || `it exited with code ${code}` });
    });
  });
  if (platform === 'win32') return unwatched(child, exited);

  const mongod = await firstNumber(child.stdout.setEncoding('utf8'));
  // mongod's output has closed, so mongod has ended and the watchdog can end, too.
  child.stdout.once('end', () => child.stdin.end());
  // The watchdog was killed: nothing would end mongod later, so mongod is ended now.
  child.once('exit', (_code, by) => by !== null && sendSignal(mongod, 'SIGTERM'));
  return {
    pid: mongod,
    exited,
    stop: () => {
      child.stdin.end();
      const force = setTimeout(() => sendSignal(mongod, 'SIGKILL'), STOP_LIMIT_MS);
      return exited.finally(() => clearTimeout(force));
    },
  };
}

/**
 * Windows has no such shell: there a killed program leaves its mongod running, and the folder stays in use until that
 * is ended by hand.
 */
function unwatched(child: ChildProcess, exited: Promise<MongodExit>): Mongod {
  child.stdout?.resume();
  return {
    pid: child.pid ?? 0,
    exited,
    stop: () => {
      child.kill();
      return exited;
    },
  };
}

async function launchWatched(words: readonly string[]) {
  const self = await findProcess(pid);
  return launch('/bin/sh', ['-c', SCRIPT, 'sh', WATCHDOG_MARKER, `${pid}:${self?.started ?? '-'}`, ...words]);
}

function launch(program: string, words: readonly string[]) {
  return spawn(program, words, { detached: true, stdio: ['pipe', 'pipe', 'pipe'], windowsHide: true });
}

/** The pid of mongod, which the watchdog prints first. The output after it is not needed: it is in mongod's log too. */
async function firstNumber(output: Readable): Promise<number> {
  return new Promise((resolve, reject) => {
    output.once('data', (chunk: string) => resolve(Number.parseInt(chunk, 10)));
    output.once('close', () => reject(new MillraceError('internal', 'The watchdog of MongoDB did not start.')));
    output.on('data', () => {});
  });
}
