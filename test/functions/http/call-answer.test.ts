/** What is answered for a fault of the code, and what the log gets of it. */
import t from 'tap';
import { answerOf } from '../../../src/functions/http/call-answer.ts';
import { MillraceError } from '../../../src/kernel/errors.ts';

t.test('the log is told which function failed and where, also when the client is not', async (t) => {
  const stack = "TypeError: no 'x'\n    at default (greet.ts:5:8)";
  const fault = { kind: 'fault', code: 'function-failed', message: "TypeError: no 'x'", stack, cpuMs: 1 } as const;
  const errorOf = (isTold: boolean, of: typeof fault | (Omit<typeof fault, 'stack'> & { stack: null }) = fault) => {
    try {
      return answerOf(of, 'hello/greet', isTold, 'run_1');
    } catch (error) {
      return error instanceof MillraceError ? error : null;
    }
  };
  const cause = { stack: `hello/greet: ${stack}` };
  t.match(errorOf(true), { code: 'function-failed', message: "TypeError: no 'x'", cause });
  t.match(errorOf(false), { message: 'The function failed', headers: { 'millrace-run': 'run_1' }, cause });
  t.match(errorOf(false, { ...fault, stack: null }), { cause: { stack: "hello/greet: TypeError: no 'x'" } });
});
