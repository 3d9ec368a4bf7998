/** Which mongod is used: the configured one, then the PATH, then the cache, then a download, in this order. */
import { chmod, mkdir, readdir, writeFile } from 'node:fs/promises';
import { arch, platform } from 'node:os';
import { dirname, join } from 'node:path';
import t, { type Test } from 'tap';
import { findMongod, type MongodDownloader } from '../../src/database/embedded/find-mongod.ts';
import { fetchOfficialBuild } from '../../src/database/embedded/official-build.ts';
import { MillraceError } from '../../src/lib/errors.ts';

/** Creates a program that only prints its version at `path`. */
async function fake(path: string, version: string): Promise<string> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, `#!/bin/sh\necho "db version v${version}"\n`);
  await chmod(path, 0o755);
  return path;
}

interface Places {
  readonly named: string;
  readonly onPath: string;
  readonly path: string[];
  readonly cache: string;
  readonly cached: string;
}

function spots(t: Test): Places {
  const root = t.testdir();
  const cache = join(root, 'the cache');
  return {
    named: join(root, 'named one', 'mongod'),
    onPath: join(root, 'bin', 'mongod'),
    path: ['', join(root, 'missing'), join(root, 'bin')],
    cache,
    cached: join(cache, `mongod-${platform()}-${arch()}-6.0.27`, 'mongod'),
  };
}

/** A source that must not be used. */
const never: MongodDownloader = async () => {
  throw new MillraceError('internal', 'This source was not to be asked');
};

t.test('a configured mongod is used before all others', async (t) => {
  const { named, onPath, path, cache, cached } = spots(t);
  for (const one of [named, onPath, cached]) await fake(one, '7.0.1');
  const sources = new Map([['nobody', never]]);
  t.equal(await findMongod({ binary: named, path, cache, sources }), named);
  t.equal(await findMongod({ path, cache, sources }), onPath);
  t.equal(await findMongod({ path: [], cache, sources }), cached);
});

t.test('an unusable configured mongod is an error, and no other is searched', async (t) => {
  const { named, onPath, path, cache } = spots(t);
  await fake(onPath, '7.0.1');
  const look = () => findMongod({ binary: named, path, cache });
  await t.rejects(look(), { message: /MONGOD_BINARY is .*named one.*not a program/, hint: /unset MONGOD_BINARY/ });
  await fake(named, '5.0.14');
  await t.rejects(look(), { message: /it is version 5\.0\.14, and 6\.0 is the oldest/ });
  await writeFile(named, '#!/bin/sh\necho "libssl.so.1.1 is missing" >&2\nexit 127\n');
  await t.rejects(look(), { message: /it does not run \(libssl\.so\.1\.1 is missing\)/ });
});

t.test('a mongod on the PATH that is too old is skipped and reported', async (t) => {
  const { onPath, path, cache, cached } = spots(t);
  await fake(onPath, '4.4.29');
  await fake(cached, '6.0.27');
  const lines: string[] = [];
  t.equal(await findMongod({ path, cache, onProgress: (line) => lines.push(line) }), cached);
  t.match(lines, [/^Not using .*mongod: it is version 4\.4\.29/]);
});

t.test('the newest mongod in the cache is used, with versions compared as numbers', async (t) => {
  const { cache } = spots(t);
  const [old, young] = ['8.2.6', '10.0.1'].map((v) => join(cache, `mongod-${platform()}-${arch()}-${v}`, 'mongod'));
  for (const one of [old, young]) await fake(one ?? '', '8.2.6');
  await fake(join(cache, 'mongod-plan9-mips-99.0.0', 'mongod'), '99.0.0');
  t.equal(await findMongod({ path: [], cache }), young);
});

t.test('download sources are tried in order; the result is cached for the next start', async (t) => {
  const { cache } = spots(t);
  const requested: string[] = [];
  const sources = new Map<string, MongodDownloader>([
    [
      'the first',
      async () => {
        requested.push('first');
        throw new MillraceError('database-unavailable', 'They cannot be reached.');
      },
    ],
    [
      'the second',
      async (folder) => {
        requested.push('second');
        return fake(join(folder, 'deep', 'mongod'), '7.0.9');
      },
    ],
    ['the third', never],
  ]);
  const lines: string[] = [];
  const found = await findMongod({ path: [], cache, sources, onProgress: (line) => lines.push(line) });
  t.strictSame(requested, ['first', 'second']);
  t.equal(found, join(cache, `mongod-${platform()}-${arch()}-7.0.9`, 'mongod'));
  t.match(lines, [/^No MongoDB from the first: They cannot be reached\.$/]);
  t.equal(await findMongod({ path: [], cache, sources: new Map([['nobody', never]]) }), found);
  t.equal((await readdir(cache)).length, 1, 'nothing else is left in the cache');
});

t.test('without any mongod the error says what was tried and what to do', async (t) => {
  const { cache } = spots(t);
  const sources = new Map<string, MongodDownloader>([
    ['the first', async () => Promise.reject(new MillraceError('database-unavailable', 'They cannot be reached.'))],
    ['the second', async (folder) => fake(join(folder, 'mongod'), 'unknown')],
  ]);
  await t.rejects(findMongod({ path: [], cache, sources }), {
    code: 'database-unavailable',
    message: /the first: They cannot be reached\. the second: It does not report its version\./,
    hint: /MONGODB_URL.*MONGOD_BINARY.*python3/,
  });
  t.strictSame(await readdir(cache), []);
});

t.test('unreachable official builds are given up within seconds', async (t) => {
  const started = Date.now();
  const fetchSilent: typeof fetch = (_url, init) =>
    new Promise((_resolve, reject) => init?.signal?.addEventListener('abort', () => reject(init.signal?.reason)));
  await t.rejects(
    fetchOfficialBuild(t.testdir(), () => {}, fetchSilent),
    { message: 'They cannot be reached.' },
  );
  t.ok(Date.now() - started < 8000);
});
