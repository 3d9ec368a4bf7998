/**
 * mongod's log: limits its size, and extracts the reason of a failure. Lines are JSON (MongoDB manual, "Log Messages"):
 * `s` is the severity, `msg` the sentence, `attr` its details.
 */
import { open, rename, stat } from 'node:fs/promises';

const LIMIT_BYTES = 10_000_000;
const TAIL_BYTES = 1_000_000;
/** The wording of the operating system and WiredTiger, and that of MongoDB itself. */
const FULL_DISK = /No space left on device|OutOfDiskSpace/;

/** Lines that follow a failure without its reason: the stack of a crash. */
const NO_REASON = /"msg":"(?:\s*Frame\b|BACKTRACE|Writing fatal message|Got signal)/;

/** Rotates a large log, keeping one old log. Returns the current size. */
export async function rotateMongodLog(log: string): Promise<number> {
  const size = await stat(log).then(
    (found) => found.size,
    () => 0,
  );
  if (size <= LIMIT_BYTES) return size;
  await rename(log, `${log}.old`);
  return 0;
}

/**
 * The reason of a failure as one sentence: a full disk, or else the last error written after byte `since`; `null` if
 * there is none.
 */
export async function lastLogError(log: string, since: number): Promise<string | null> {
  const said = await tail(log, since);
  // A full disk causes many consecutive errors, and the last error does not name it.
  if (FULL_DISK.test(said)) return 'there is no space left on the disk of its data';
  for (const line of said.split('\n').reverse()) {
    if (/"s":"[EF]"/.test(line) && !NO_REASON.test(line)) return sentence(line);
  }
  return null;
}

async function tail(log: string, since: number): Promise<string> {
  const file = await open(log).catch(() => null);
  if (file === null) return '';
  try {
    const { size } = await file.stat();
    const start = Math.max(since, size - TAIL_BYTES, 0);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(TAIL_BYTES), 0, TAIL_BYTES, start);
    return buffer.toString('utf8', 0, bytesRead);
  } finally {
    await file.close();
  }
}

function sentence(line: string): string {
  const parts = [/"msg":"((?:[^"\\]|\\.)*)"/, /"(?:error|reason|errmsg)":"((?:[^"\\]|\\.)*)"/].map(
    (pattern) => pattern.exec(line)?.[1]?.replaceAll('\\"', '"') ?? '',
  );
  return parts.filter((part) => part !== '').join(': ');
}
