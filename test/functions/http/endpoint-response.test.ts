/** The response to a failed function, and its log entry. */
import t from 'tap';
import { toCallResponse } from '../../../src/functions/http/call-routes.ts';
import { MillraceError } from '../../../src/lib/errors.ts';

t.test('The log names the failed function and the location, even if the response does not.', async (t) => {
  const stack = "TypeError: no 'x'\n    at default (greet.ts:5:8)";
  const issue = { kind: 'error', code: 'function-failed', message: "TypeError: no 'x'", stack, cpuMs: 1 } as const;
  const errorOf = (isReported: boolean, of: typeof issue | (Omit<typeof issue, 'stack'> & { stack: null }) = issue) => {
    try {
      return toCallResponse(of, 'hello/greet', isReported, 'run_1');
    } catch (error) {
      return error instanceof MillraceError ? error : null;
    }
  };
  const cause = { stack: `hello/greet: ${stack}` };
  t.match(errorOf(true), { code: 'function-failed', message: "TypeError: no 'x'", cause });
  t.match(errorOf(false), { message: 'The function failed', headers: { 'millrace-run': 'run_1' }, cause });
  t.match(errorOf(false, { ...issue, stack: null }), { cause: { stack: "hello/greet: TypeError: no 'x'" } });
});
