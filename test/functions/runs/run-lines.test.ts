/** Runs as text for a terminal: lines as they are logged, ends of attempts, and no control sequences. */
import t from 'tap';
import { formatLogLines, formatRunEnd } from '../../../src/functions/runs/run-log-format.ts';

const RUN = { id: 'run_1', plugin: 'shop', function: 'total', attempts: 1, durationMs: 12.4, error: null };

t.test('Lines have the name of their function.', async (t) => {
  t.strictSame(formatLogLines(RUN, { level: 'warn', text: 'a\nb' }), [
    'shop/total            warn      a',
    'shop/total            warn      b',
  ]);
  t.strictSame(formatLogLines(RUN, { level: 'info', text: '\u001b[2Jgone' }), [
    'shop/total            info      \ufffd[2Jgone',
  ]);
});

t.test('The end of an attempt has its duration, or the error and its location.', async (t) => {
  t.strictSame(formatRunEnd({ ...RUN, state: 'succeeded' }), ['shop/total            succeeded 12 ms']);
  t.strictSame(formatRunEnd({ ...RUN, state: 'running' }), []);
  t.strictSame(formatRunEnd({ ...RUN, state: 'pending' }), []);
  const error = { code: 'function-failed', message: 'No', stack: 'Error: No\n    at total.ts:3:9' };
  t.strictSame(formatRunEnd({ ...RUN, state: 'pending', error }), [
    'shop/total            failed    No (attempt 1; it is tried again)  [function-failed, run_1]',
    '    at total.ts:3:9',
  ]);
  t.match(formatRunEnd({ ...RUN, state: 'failed', error }), [/ failed {4}No {2}\[function-failed, run_1\]$/, / at /]);
});
