/**
 * The Range header of a request (RFC 9110 section 14). Pure. One range is served. A request for several ranges gets the whole
 * file: section 14.2 allows that, and it rules out attacks with overlapping ranges.
 */
import type { ByteRange } from './stores/file-store.ts';

/** `whole`: no usable range, respond with 200. `unsatisfiable`: respond with 416. Otherwise the part to send with 206. */
export type RangeResult = 'whole' | 'unsatisfiable' | ByteRange;

/**
 * Evaluates a Range header for a file. A malformed header, another unit, or several ranges are ignored, as section 14.2 requires
 * or allows; so is any range of an empty file, because 206 cannot express it.
 * @param header the header's value, undefined when absent
 * @param size bytes of the file
 */
export function parseRange(header: string | undefined, size: number): RangeResult {
  const match = /^bytes=[ \t]*(?:(\d{1,15})-(\d{0,15})|-(\d{1,15}))[ \t]*$/i.exec(header ?? '');
  if (!match || size === 0) return 'whole';
  const [, first, last, suffix] = match;
  if (first === undefined) {
    const length = Number(suffix);
    return length === 0 ? 'unsatisfiable' : { start: Math.max(0, size - length), end: size - 1 };
  }
  const start = Number(first);
  const end = last ? Number(last) : size - 1;
  if (last && end < start) return 'whole';
  return start >= size ? 'unsatisfiable' : { start, end: Math.min(end, size - 1) };
}
