/**
 * Forged evidence: each forgery changes the frames of one connection slightly. They prove that the judge of the torture
 * test detects errors; mutations.ts has wrong servers.
 */
import type { Evidence } from './judge.ts';
import type { Journal, Line } from './subscriber.ts';

/** Forges the frames of a connection; null if they do not permit it. */
type Forgery = (frames: readonly string[]) => string[] | null;

const isChange = (frame: string): boolean => frame.startsWith('event: change\n');
const positionsOf = (frames: readonly string[]) => [...frames.keys()].filter((index) => isChange(frames[index] ?? ''));
const without = (frames: readonly string[], at: number) => frames.filter((_, index) => index !== at);

export const FORGERIES: Readonly<Record<string, Forgery>> = {
  'a change is missing': (frames) => {
    const spots = positionsOf(frames);
    const [at] = spots.slice(spots.length >> 1, -1);
    return at === undefined ? null : without(frames, at);
  },
  'the last change of a connection is missing': (frames) => {
    const at = positionsOf(frames).at(-1);
    return at === undefined || at < frames.length - 1 ? null : without(frames, at);
  },
  'the first missed change is missing': (frames) =>
    frames[0]?.includes('"from":"resume"') && isChange(frames[1] ?? '') ? without(frames, 1) : null,
  'a change is sent twice': (frames) => {
    const at = positionsOf(frames).at(-1);
    return at === undefined ? null : [...frames.slice(0, at + 1), ...frames.slice(at)];
  },
  'two changes are swapped': (frames) => {
    const at = positionsOf(frames).find((index) => isChange(frames[index + 1] ?? ''));
    return at === undefined ? null : frames.with(at, frames[at + 1] ?? '').with(at + 1, frames[at] ?? '');
  },
  'a change has another state': (frames) => {
    const at = positionsOf(frames).find((index) => /"v":\d/.test(frames[index] ?? ''));
    return at === undefined ? null : frames.with(at, frames[at]?.replace(/"v":\d+/, '"v":100') ?? '');
  },
  'a snapshot has another state': (frames) => {
    const at = frames.findIndex((frame) => /^event: snapshot\n.*"v":\d/.test(frame));
    return at < 0 ? null : frames.with(at, frames[at]?.replace(/"v":\d+/, '"v":100') ?? '');
  },
};

/** The evidence with one forged connection; null if no connection permits it. */
export function forged(evidence: Evidence, forgery: Forgery): Evidence | null {
  for (const [index, journal] of evidence.journals.entries()) {
    const lines = reportsAll(journal) ? forgedLines(journal.lines, forgery) : null;
    if (lines !== null) return { ...evidence, journals: evidence.journals.with(index, { ...journal, lines }) };
  }
  return null;
}

/** Whether the log decides of every change whether it must be sent. */
function reportsAll({ wire, queries }: Journal): boolean {
  return wire === 'stream' && queries.every((one) => one.kind === 'documents' && one.query.limit === undefined);
}

function forgedLines(lines: readonly Line[], forgery: Forgery): Line[] | null {
  for (const [index, line] of lines.entries()) {
    // A client that reconnects without its state gets from the snapshot what a connection had lost.
    if (!lines[index + 1]?.since[0]) continue;
    const frames = forgery(line.frames);
    if (frames !== null) return lines.with(index, { ...line, frames });
  }
  return null;
}
