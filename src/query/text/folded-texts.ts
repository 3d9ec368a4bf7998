/**
 * Long texts folded to one letter case, once for all conditions that look at them, of one filter or of many. A few
 * folded texts are kept, of a bounded size together. Not here: what folding is (case-folding.ts).
 */
import { pause, progress } from '../../kernel/concurrency/pauses.ts';
import { foldCase } from './case-folding.ts';

/** UTF-16 units from which a text is kept: folding a shorter text again is as quick as finding it. */
const LONG = 512;
/** UTF-16 units of all kept texts, folded; a larger text is kept alone. */
const MOST_KEPT = 4 * 1024 * 1024;
/** UTF-16 units that are folded without a pause: about 2 ms. */
const PIECE = 1024 * 1024;

const kept = new Map<string, string>();
let size = 0;

/** The text as `foldCase` has it. */
export function folded(text: string): string {
  if (text.length < LONG) return foldCase(text);
  const known = kept.get(text);
  if (known !== undefined) return known;
  const made = text.length <= PIECE ? foldCase(text) : foldInPieces(text);
  if (size + made.length > MOST_KEPT) {
    kept.clear();
    size = 0;
  }
  kept.set(text, made);
  size += made.length;
  return made;
}

function foldInPieces(text: string): string {
  const done = progress(kept, text, () => ({ pieces: [] as string[], at: 0 }));
  while (done.at < text.length) {
    // Do not cut a surrogate pair.
    const isPair = (text.codePointAt(done.at + PIECE - 1) ?? 0) > 0xffff;
    const end = done.at + PIECE + (isPair ? 1 : 0);
    done.pieces.push(foldCase(text.slice(done.at, end)));
    done.at = end;
    pause();
  }
  return done.pieces.join('');
}
