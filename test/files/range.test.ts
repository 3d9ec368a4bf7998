/** The Range header, row by row of RFC 9110 section 14. */
import t from 'tap';
import { parseRange, type RangeResult } from '../../src/files/range.ts';

const part = (start: number, end: number): RangeResult => ({ start, end });

const ROWS: readonly (readonly [string, string | undefined, number, RangeResult])[] = [
  ['no header', undefined, 10_000, 'whole'],
  ['first 500 bytes (14.1.2)', 'bytes=0-499', 10_000, part(0, 499)],
  ['second 500 bytes (14.1.2)', 'bytes=500-999', 10_000, part(500, 999)],
  ['final 500 bytes as a suffix (14.1.2)', 'bytes=-500', 10_000, part(9_500, 9_999)],
  ['final 500 bytes from a position (14.1.2)', 'bytes=9500-', 10_000, part(9_500, 9_999)],
  ['one byte', 'bytes=0-0', 10_000, part(0, 0)],
  ['the last byte', 'bytes=-1', 10_000, part(9_999, 9_999)],
  ['the whole by position', 'bytes=0-', 10_000, part(0, 9_999)],
  ['an end beyond the file is the end', 'bytes=9000-20000', 10_000, part(9_000, 9_999)],
  ['a suffix longer than the file is the whole', 'bytes=-20000', 10_000, part(0, 9_999)],
  ['the unit in any case', 'Bytes=0-1', 10_000, part(0, 1)],
  ['blanks around the range', 'bytes= 0-1 ', 10_000, part(0, 1)],
  ['leading zeros', 'bytes=007-009', 10_000, part(7, 9)],
  ['a start at the length', 'bytes=10000-', 10_000, 'unsatisfiable'],
  ['a start beyond the length', 'bytes=20000-20001', 10_000, 'unsatisfiable'],
  ['a suffix of nothing', 'bytes=-0', 10_000, 'unsatisfiable'],
  ['an end before the start is malformed, so ignored', 'bytes=5-4', 10_000, 'whole'],
  ['several ranges get the whole', 'bytes=0-0,-1', 10_000, 'whole'],
  ['many small overlapping ranges get the whole', `bytes=${'0-,'.repeat(1_000)}0-`, 10_000, 'whole'],
  ['another unit', 'lines=1-2', 10_000, 'whole'],
  ['no unit', '0-499', 10_000, 'whole'],
  ['no positions', 'bytes=-', 10_000, 'whole'],
  ['nothing after the unit', 'bytes=', 10_000, 'whole'],
  ['not numbers', 'bytes=a-b', 10_000, 'whole'],
  ['a sign', 'bytes=+1-2', 10_000, 'whole'],
  ['a number too long to be exact', 'bytes=0-9007199254740993', 10_000, 'whole'],
  ['an empty file from its start', 'bytes=0-', 0, 'whole'],
  ['an empty file by suffix', 'bytes=-5', 0, 'whole'],
  ['a file of one byte', 'bytes=0-0', 1, part(0, 0)],
  ['5 GiB keep their positions', 'bytes=5368709119-', 5_368_709_120, part(5_368_709_119, 5_368_709_119)],
];

for (const [name, header, size, verdict] of ROWS) {
  t.test(name, async (t) => {
    t.same(parseRange(header, size), verdict, header?.slice(0, 60) ?? 'absent');
  });
}
