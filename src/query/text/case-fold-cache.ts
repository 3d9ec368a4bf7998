/**
 * Long texts folded to one letter case, once for all conditions that read them, of one filter or of many. A few folded
 * texts are kept, of a bounded total size.
 */
import { resumableProgress, yieldIfDue } from '../../lib/concurrency/cooperative-yield.ts';
import { foldCase } from './case-folding.ts';

/** UTF-16 units from which a text is kept: folding a shorter text again is as fast as the lookup. */
const LONG = 512;
/** UTF-16 units of all kept texts, folded; a larger text is kept alone. */
const MOST_KEPT = 4 * 1024 * 1024;
/** UTF-16 units that are folded without a pause: about 2 ms. */
const PIECE = 1024 * 1024;

const kept = new Map<string, string>();
let size = 0;

/** The text as `foldCase` returns it. */
export function foldCaseCached(text: string): string {
  if (text.length < LONG) return foldCase(text);
  const known = kept.get(text);
  if (known !== undefined) return known;
  const created = text.length <= PIECE ? foldCase(text) : foldInPieces(text);
  if (size + created.length > MOST_KEPT) {
    kept.clear();
    size = 0;
  }
  kept.set(text, created);
  size += created.length;
  return created;
}

function foldInPieces(text: string): string {
  const done = resumableProgress(kept, text, () => ({ pieces: [] as string[], at: 0 }));
  while (done.at < text.length) {
    // Do not cut a surrogate pair.
    const isPair = (text.codePointAt(done.at + PIECE - 1) ?? 0) > 0xffff;
    const end = done.at + PIECE + (isPair ? 1 : 0);
    done.pieces.push(foldCase(text.slice(done.at, end)));
    done.at = end;
    yieldIfDue();
  }
  return done.pieces.join('');
}
