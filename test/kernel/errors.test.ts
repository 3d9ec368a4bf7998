/** Errors that are told of a part of the request, and in other words. */
import t from 'tap';
import { MillraceError } from '../../src/kernel/errors.ts';

t.test('the place of a part is put before the places that an error names', async (t) => {
  const fault = { pointer: '/a', code: 'unsupported-key', detail: 'no' } as const;
  const error = new MillraceError('invalid-patch', 'Wrong', { faults: [fault], hint: 'Do', headers: { etag: 'x' } });
  const placed = error.at('/2').at('/body');
  t.match(placed, { code: 'invalid-patch', message: 'Wrong', hint: 'Do', headers: { etag: 'x' } });
  t.strictSame(placed.faults, [{ ...fault, pointer: '/body/2/a' }]);
  t.equal((placed.cause as MillraceError).cause, error, 'the log sees where it came from');
});

t.test('without places the part is the place', async (t) => {
  const placed = new MillraceError('invalid-patch', 'Wrong').at('/2');
  t.strictSame(placed.faults, [{ pointer: '/2', code: 'invalid-patch', detail: 'Wrong' }]);
  t.equal(placed.hint, undefined);
});

t.test('other words take the place of those it has', async (t) => {
  const error = new MillraceError('invalid-patch', 'Wrong', { hint: 'Do', extensions: { failedOperation: 1 } });
  t.match(error.with({ message: 'Worse' }), { message: 'Worse', hint: 'Do', extensions: { failedOperation: 1 } });
  t.match(error.with({ extensions: { failedOperation: 2 } }), { message: 'Wrong', extensions: { failedOperation: 2 } });
});
