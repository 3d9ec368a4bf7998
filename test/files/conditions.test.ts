/** Preconditions and If-Range, row by row of RFC 9110 section 13. */
import t from 'tap';
import {
  type ConditionHeaders,
  type ConditionResult,
  evaluateConditions,
  isRangeAllowed,
} from '../../src/files/conditions.ts';

const STORED = new Date('2026-03-04T05:06:07.890Z');
const SAME = 'Wed, 04 Mar 2026 05:06:07 GMT';
const BEFORE = 'Wed, 04 Mar 2026 05:06:06 GMT';
const AFTER = 'Wed, 04 Mar 2026 05:06:08 GMT';
const VALIDATORS = { etag: '"abc"', lastModified: STORED };

const CONDITIONS: readonly (readonly [string, ConditionHeaders, ConditionResult])[] = [
  ['nothing asked', {}, 'proceed'],
  ['If-Match holds', { 'if-match': '"abc"' }, 'proceed'],
  ['If-Match in a list', { 'if-match': '"x", "abc"' }, 'proceed'],
  ['If-Match *', { 'if-match': '*' }, 'proceed'],
  ['If-Match of another', { 'if-match': '"x"' }, 'failed'],
  ['If-Match with the weak form that nginx makes of the tag', { 'if-match': 'W/"abc"' }, 'proceed'],
  ['If-Match with the form that Apache makes of the tag', { 'if-match': '"abc-gzip"' }, 'proceed'],
  ['If-Match with the weak form of another tag', { 'if-match': 'W/"ab"' }, 'failed'],
  ['If-Match with another tag that begins the same', { 'if-match': '"abc-gz", "abcgzip", "abc-gzip-x"' }, 'failed'],
  ['If-None-Match with the form that Apache makes of the tag', { 'if-none-match': '"abc-gzip"' }, 'not-modified'],
  ['If-Unmodified-Since the same second', { 'if-unmodified-since': SAME }, 'proceed'],
  ['If-Unmodified-Since earlier', { 'if-unmodified-since': BEFORE }, 'failed'],
  ['If-Match stands above If-Unmodified-Since', { 'if-match': '"abc"', 'if-unmodified-since': BEFORE }, 'proceed'],
  ['If-None-Match holds', { 'if-none-match': '"abc"' }, 'not-modified'],
  ['If-None-Match compares weakly', { 'if-none-match': 'W/"abc"' }, 'not-modified'],
  ['If-None-Match *', { 'if-none-match': '*' }, 'not-modified'],
  ['If-None-Match of another', { 'if-none-match': '"x", "y"' }, 'proceed'],
  ['If-None-Match of a part of the tag', { 'if-none-match': '"ab"' }, 'proceed'],
  ['If-Modified-Since the same second', { 'if-modified-since': SAME }, 'not-modified'],
  ['If-Modified-Since later', { 'if-modified-since': AFTER }, 'not-modified'],
  ['If-Modified-Since earlier', { 'if-modified-since': BEFORE }, 'proceed'],
  ['If-Modified-Since that is no date', { 'if-modified-since': 'yesterday' }, 'proceed'],
  ['If-Modified-Since that is a number', { 'if-modified-since': '1' }, 'proceed'],
  ['If-None-Match stands above If-Modified-Since', { 'if-none-match': '"x"', 'if-modified-since': AFTER }, 'proceed'],
];

for (const [name, headers, expected] of CONDITIONS) {
  t.test(name, async (t) => {
    t.equal(evaluateConditions(headers, VALIDATORS), expected);
  });
}

const RANGES: readonly (readonly [string, string | undefined, boolean])[] = [
  ['no If-Range', undefined, true],
  ['If-Range with our tag', '"abc"', true],
  ['If-Range with another tag', '"x"', false],
  ['If-Range with a weak tag never matches', 'W/"abc"', false],
  ['If-Range with the tag of a compressed response never matches', '"abc-gzip"', false],
  ['If-Range with our date', SAME, true],
  ['If-Range with an earlier date', BEFORE, false],
  ['If-Range with a later date', AFTER, false],
  ['If-Range that is neither', 'abc', false],
];

for (const [name, header, expected] of RANGES) {
  t.test(name, async (t) => {
    t.equal(isRangeAllowed(header === undefined ? {} : { 'if-range': header }, VALIDATORS), expected);
  });
}
