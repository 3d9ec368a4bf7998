/**
 * A killed mongod whose first thread has ended already, while others have not: its files are open, so its folder is in
 * use until they have. A Python program replaces it: it ends its first thread only.
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { claimDataFolder, findDataFolderHolder } from '../../src/database/embedded/data-dir-lock.ts';
import { until } from '../helpers/until.ts';

/** The number of Linux's system call `exit`, which ends one thread, by machine. */
const EXIT: Readonly<Record<string, number>> = { x64: 60, arm64: 93 };
const LEFT_S = 3;
const ENDING = `
import ctypes, threading, time
threading.Thread(target=time.sleep, args=(${LEFT_S},)).start()
ctypes.CDLL(None).syscall(${EXIT[process.arch]}, 0)
`;

const canRun = process.platform === 'linux' && process.arch in EXIT && spawnSync('python3', ['--version']).status === 0;

t.test(
  'a folder is in use until all threads have ended',
  { skip: canRun ? false : 'needs Linux and python3' },
  async (t) => {
    const data = join(t.testdir(), 'data');
    await mkdir(data);
    const program = spawn('python3', ['-c', ENDING, data], { stdio: 'inherit' });
    const ended = once(program, 'exit');
    await writeFile(join(data, 'mongod.lock'), `${program.pid}\n`);
    const isEnding = async () => (await findDataFolderHolder(data))?.mongod.command === '';
    await until(isEnding, 'its first thread has ended');
    t.match(await findDataFolderHolder(data), { mongod: { pid: program.pid }, owner: null });
    await claimDataFolder(data, (line) => t.match(line, /waiting/));
    t.equal(await findDataFolderHolder(data), null, 'it is waited for');
    await ended;
  },
);
