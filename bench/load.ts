/**
 * Load on one server over kept-alive connections: each sends its next request when the last one is answered. It counts
 * answers, their times, and the CPU time that the server's process spent on them.
 */
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';

export interface Call {
  readonly method: 'GET' | 'POST' | 'PUT';
  readonly path: string;
  readonly body?: string;
}

export interface Figures {
  readonly perSecond: number;
  /** Microseconds of the server's CPU time for one request. */
  readonly cpu: number;
  /** Milliseconds. */
  readonly p50: number;
  readonly p99: number;
}

/** Clock ticks of /proc in one second; Linux has 100 on every platform that Node runs on. */
const TICKS = 100;

/**
 * @param next the next call to send
 * @param pid the server's process
 */
export async function load(
  base: string,
  pid: number,
  connections: number,
  forMs: number,
  next: () => Call,
): Promise<Figures> {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const times: number[] = [];
  const cpuBefore = cpuTicks(pid);
  const start = performance.now();
  const end = start + forMs;
  const worker = async () => {
    while (performance.now() < end) {
      const sent = performance.now();
      await send(base, agent, next());
      times.push(performance.now() - sent);
    }
  };
  await Promise.all(Array.from({ length: connections }, worker));
  const seconds = (performance.now() - start) / 1000;
  const cpuSeconds = (cpuTicks(pid) - cpuBefore) / TICKS;
  agent.destroy();
  times.sort((a, b) => a - b);
  const at = (share: number) => times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? Number.NaN;
  return { perSecond: times.length / seconds, cpu: (cpuSeconds * 1e6) / times.length, p50: at(0.5), p99: at(0.99) };
}

function send(base: string, agent: Agent, { method, path, body }: Call): Promise<void> {
  return new Promise((resolve, reject) => {
    const headers =
      body === undefined ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
    const sent = request(base + path, { method, agent, headers }, (answer) => {
      answer.resume();
      answer.once('end', () => {
        const status = answer.statusCode ?? 0;
        if (status < 300) resolve();
        else reject(new Error(`${method} ${path} answered ${status}`));
      });
    });
    sent.once('error', reject);
    sent.end(body);
  });
}

/** CPU time of a process, user and system, in clock ticks (proc_pid_stat(5), fields 14 and 15). */
function cpuTicks(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return Number(fields[11]) + Number(fields[12]);
}
