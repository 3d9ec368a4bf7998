/** What a mongod that failed is said to have failed of. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { lastFault } from '../../src/database/embedded/log.ts';
import { dataFolder } from '../helpers/database/embedded-program.ts';

const line = (severity: string, attr: object) =>
  `${JSON.stringify({ s: severity, c: 'WT', msg: 'WiredTiger error message', attr })}\n`;
const WRITING = {
  error: 28,
  message: { msg: 'pwrite: failed to write 4096 bytes', error_str: 'No space left on device' },
};
const PANIC = { error: -31804, message: { msg: 'the process must exit', error_str: 'WT_PANIC: library panic' } };

t.test('a full disk is told as such, whatever failed of it', async (t) => {
  const log = join(await dataFolder(t), 'mongod.log');
  await writeFile(log, line('E', WRITING) + line('E', PANIC) + line('F', { error: 'UnknownError' }) + line('I', {}));
  t.equal(await lastFault(log, 0), 'there is no space left on the disk of its data');
});

t.test('what went before this start is no reason', async (t) => {
  const log = join(await dataFolder(t), 'mongod.log');
  const before = line('E', WRITING);
  await writeFile(log, before + line('F', { error: 'the folder is of another version' }));
  t.equal(await lastFault(log, before.length), 'WiredTiger error message: the folder is of another version');
  await writeFile(log, before);
  t.equal(await lastFault(log, before.length), null);
});
