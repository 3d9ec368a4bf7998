/** Runs in words for a terminal: lines as they are logged, ends of attempts, and nothing that changes the terminal. */
import t from 'tap';
import { endLines, logLines } from '../../../src/functions/runs/run-lines.ts';

const RUN = { id: 'run_1', plugin: 'shop', function: 'total', attempt: 1, durationMs: 12.4, error: null };

t.test('lines have the name of their function', async (t) => {
  t.strictSame(logLines(RUN, { level: 'warn', text: 'a\nb' }), [
    'shop/total            warn    a',
    'shop/total            warn    b',
  ]);
  t.strictSame(logLines(RUN, { level: 'info', text: '\u001b[2Jgone' }), [
    'shop/total            info    \ufffd[2Jgone',
  ]);
});

t.test('an end says how long it took, or what was wrong and where', async (t) => {
  t.strictSame(endLines({ ...RUN, state: 'ok' }), ['shop/total            ok      12 ms']);
  t.strictSame(endLines({ ...RUN, state: 'running' }), []);
  t.strictSame(endLines({ ...RUN, state: 'waiting' }), []);
  const error = { code: 'function-failed', message: 'No', stack: 'Error: No\n    at total.ts:3:9' };
  t.strictSame(endLines({ ...RUN, state: 'waiting', error }), [
    'shop/total            failed  No (attempt 1; it is tried again)  [function-failed, run_1]',
    '    at total.ts:3:9',
  ]);
  t.match(endLines({ ...RUN, state: 'parked', error }), [/ parked {2}No {2}\[function-failed, run_1\]$/, / at /]);
});
