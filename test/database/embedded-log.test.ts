/** The reported reason of a mongod that failed. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { lastLogError } from '../../src/database/embedded/mongod-log.ts';
import { dataFolder } from '../helpers/database/embedded-program.ts';

const line = (severity: string, attr: object) =>
  `${JSON.stringify({ s: severity, c: 'WT', msg: 'WiredTiger error message', attr })}\n`;
const WRITING = {
  error: 28,
  message: { msg: 'pwrite: failed to write 4096 bytes', error_str: 'No space left on device' },
};
const PANIC = { error: -31804, message: { msg: 'the process must exit', error_str: 'WT_PANIC: library panic' } };

t.test('a full disk is reported as the reason, whatever failed because of it', async (t) => {
  const log = join(await dataFolder(t), 'mongod.log');
  await writeFile(log, line('E', WRITING) + line('E', PANIC) + line('F', { error: 'UnknownError' }) + line('I', {}));
  t.equal(await lastLogError(log, 0), 'there is no space left on the disk of its data');
});

t.test('the stack of a crash is not the reason', async (t) => {
  const log = join(await dataFolder(t), 'mongod.log');
  const frame = (number: number) => `${JSON.stringify({ s: 'I', msg: `  Frame: {"a":"55EC6AA6DF${number}"}` })}\n`;
  const fatal = `${JSON.stringify({ s: 'F', msg: '  Frame: {"a":"55EC6AA6DF25"}' })}\n`;
  await writeFile(
    log,
    line('F', { error: 'UnknownError' }) + fatal + Array.from({ length: 60 }, (_, n) => frame(n)).join(''),
  );
  t.equal(await lastLogError(log, 0), 'WiredTiger error message: UnknownError');
  const much = frame(1).repeat(2_000);
  await writeFile(log, line('E', WRITING) + much + fatal);
  t.equal(await lastLogError(log, 0), 'there is no space left on the disk of its data', 'however long the stack is');
});

t.test('an error before this start is not the reason', async (t) => {
  const log = join(await dataFolder(t), 'mongod.log');
  const before = line('E', WRITING);
  await writeFile(log, before + line('F', { error: 'the folder is of another version' }));
  t.equal(await lastLogError(log, before.length), 'WiredTiger error message: the folder is of another version');
  await writeFile(log, before);
  t.equal(await lastLogError(log, before.length), null);
});
