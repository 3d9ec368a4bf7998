/** Errors of a part of the request, and reworded errors. */
import t from 'tap';
import { MillraceError } from '../../src/lib/errors.ts';

t.test('the pointer of a part is prepended to the pointers of an error', async (t) => {
  const issue = { pointer: '/a', code: 'unsupported-field-name', detail: 'no' } as const;
  const error = new MillraceError('invalid-patch', 'Wrong', { issues: [issue], hint: 'Do', headers: { etag: 'x' } });
  const placed = error.at('/2').at('/body');
  t.match(placed, { code: 'invalid-patch', message: 'Wrong', hint: 'Do', headers: { etag: 'x' } });
  t.strictSame(placed.issues, [{ ...issue, pointer: '/body/2/a' }]);
  t.equal((placed.cause as MillraceError).cause, error, 'the log sees where it came from');
});

t.test('without pointers the part is the location', async (t) => {
  const placed = new MillraceError('invalid-patch', 'Wrong').at('/2');
  t.strictSame(placed.issues, [{ pointer: '/2', code: 'invalid-patch', detail: 'Wrong' }]);
  t.equal(placed.hint, undefined);
});

t.test('a reworded error replaces the given options', async (t) => {
  const error = new MillraceError('invalid-patch', 'Wrong', { hint: 'Do', extensions: { failedOperation: 1 } });
  t.match(error.with({ message: 'Worse' }), { message: 'Worse', hint: 'Do', extensions: { failedOperation: 1 } });
  t.match(error.with({ extensions: { failedOperation: 2 } }), { message: 'Wrong', extensions: { failedOperation: 2 } });
});
