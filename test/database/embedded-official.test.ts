/** The official builds, from a test server: the archive is downloaded, verified, unpacked, or rejected. */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { platform } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { fetchOfficialBuild } from '../../src/database/embedded/official-build.ts';
import { databaseWarnings } from '../../src/database/version-warnings.ts';

const SKIP = platform() === 'linux' ? {} : { skip: 'the stand-in serves a Linux archive' };
const PROGRAM = '#!/bin/sh\necho "db version v8.2.6"\n';

/** An archive such as MongoDB publishes, with only a small mongod in it. */
function archive(t: Test): Buffer {
  const root = t.testdir();
  const bin = join(root, 'mongodb-linux-x86_64-8.2.6', 'bin');
  mkdirSync(bin, { recursive: true });
  writeFileSync(join(bin, 'mongod'), PROGRAM);
  chmodSync(join(bin, 'mongod'), 0o755);
  execFileSync('tar', ['-czf', 'all.tgz', 'mongodb-linux-x86_64-8.2.6'], { cwd: root });
  return readFileSync(join(root, 'all.tgz'));
}

function serve(bytes: Buffer, md5: string, requested: string[] = []): typeof fetch {
  return async (url) => {
    requested.push(String(url));
    return new Response(String(url).endsWith('.md5') ? `${md5}  mongodb.tgz\n` : new Uint8Array(bytes));
  };
}

t.test('mongod is unpacked from the archive', SKIP, async (t) => {
  const bytes = archive(t);
  const md5 = createHash('md5').update(bytes).digest('hex');
  const requested: string[] = [];
  const folder = t.testdir();
  const found = await fetchOfficialBuild(folder, () => {}, serve(bytes, md5, requested));
  t.ok(found.startsWith(folder));
  t.equal(readFileSync(found, 'utf8'), PROGRAM);
  t.match(requested, [/^https:.*linux.*8\.2\.10\.tgz$/, /\.tgz\.md5$/]);
});

t.test('the downloaded version has no published vulnerability', SKIP, async (t) => {
  const requested: string[] = [];
  await t.rejects(fetchOfficialBuild(t.testdir(), () => {}, serve(archive(t), 'f'.repeat(32), requested)));
  const version = /(\d+\.\d+\.\d+)\.tgz$/.exec(requested[0] ?? '')?.[1] ?? '';
  t.strictSame(databaseWarnings({ version, authenticated: true, embedded: true, production: true }), []);
});

t.test('an archive that differs from the published one is rejected', SKIP, async (t) => {
  const bytes = archive(t);
  await t.rejects(
    fetchOfficialBuild(t.testdir(), () => {}, serve(bytes, 'f'.repeat(32))),
    /MD5/i,
  );
});

t.test('a server without this build is an error', SKIP, async (t) => {
  const reach: typeof fetch = async () => new Response('', { status: 403 });
  await t.rejects(
    fetchOfficialBuild(t.testdir(), () => {}, reach),
    { message: 'The server returned 403.' },
  );
});
