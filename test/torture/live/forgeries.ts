/**
 * Lies about what a stream was told: each forges the frames of one line a little. They exist to show that the judge of
 * the live torture would notice; a wrong server is mutations.ts.
 */
import type { Evidence } from './judge.ts';
import type { Journal, Line } from './subscriber.ts';

/** Forges the frames of a line; null where they offer nothing to forge. */
type Forgery = (frames: readonly string[]) => string[] | null;

const isChange = (frame: string): boolean => frame.startsWith('event: change\n');
const placesOf = (frames: readonly string[]) => [...frames.keys()].filter((index) => isChange(frames[index] ?? ''));
const without = (frames: readonly string[], at: number) => frames.filter((_, index) => index !== at);

export const FORGERIES: Readonly<Record<string, Forgery>> = {
  'a change is missing': (frames) => {
    const places = placesOf(frames);
    const [at] = places.slice(places.length >> 1, -1);
    return at === undefined ? null : without(frames, at);
  },
  'the last change of a line is missing': (frames) => {
    const at = placesOf(frames).at(-1);
    return at === undefined || at < frames.length - 1 ? null : without(frames, at);
  },
  'the first missed change is missing': (frames) =>
    frames[0]?.includes('"from":"resume"') && isChange(frames[1] ?? '') ? without(frames, 1) : null,
  'a change is told twice': (frames) => {
    const at = placesOf(frames).at(-1);
    return at === undefined ? null : [...frames.slice(0, at + 1), ...frames.slice(at)];
  },
  'two changes have changed places': (frames) => {
    const at = placesOf(frames).find((place) => isChange(frames[place + 1] ?? ''));
    return at === undefined ? null : frames.with(at, frames[at + 1] ?? '').with(at + 1, frames[at] ?? '');
  },
  'a change shows another state': (frames) => {
    const at = placesOf(frames).find((place) => /"v":\d/.test(frames[place] ?? ''));
    return at === undefined ? null : frames.with(at, frames[at]?.replace(/"v":\d+/, '"v":100') ?? '');
  },
  'a snapshot shows another state': (frames) => {
    const at = frames.findIndex((frame) => /^event: snapshot\n.*"v":\d/.test(frame));
    return at < 0 ? null : frames.with(at, frames[at]?.replace(/"v":\d+/, '"v":100') ?? '');
  },
};

/** The evidence with one line forged; null when no line offers anything to forge. */
export function forged(evidence: Evidence, forgery: Forgery): Evidence | null {
  for (const [index, journal] of evidence.journals.entries()) {
    const lines = tellsAll(journal) ? forgedLines(journal.lines, forgery) : null;
    if (lines !== null) return { ...evidence, journals: evidence.journals.with(index, { ...journal, lines }) };
  }
  return null;
}

/** Whether the log says of every change whether it has to be told. */
function tellsAll({ wire, questions }: Journal): boolean {
  return wire === 'stream' && questions.every((one) => one.kind === 'documents' && one.query.limit === undefined);
}

function forgedLines(lines: readonly Line[], forgery: Forgery): Line[] | null {
  for (const [index, line] of lines.entries()) {
    // Whoever comes back as a newcomer learns by the snapshot what a line had kept from it.
    if (!lines[index + 1]?.since[0]) continue;
    const frames = forgery(line.frames);
    if (frames !== null) return lines.with(index, { ...line, frames });
  }
  return null;
}
