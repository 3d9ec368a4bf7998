/**
 * Real S3 servers for tests, started on free loopback ports from the installation of `scripts/s3-servers.ts`. A server
 * that is not installed is reported with the reason, so that a test can skip it by name.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import type { Test } from 'tap';
import type { S3Settings } from '../../../src/files/stores/s3-store.ts';

/** Where `scripts/s3-servers.ts` puts them. */
export const S3_CACHE = join(homedir(), '.cache', 'millrace', 's3');
export const S3PROXY_JAR = join(S3_CACHE, 's3proxy-4.1.0-jar-with-dependencies.jar');
export const VERSITYGW = join(S3_CACHE, 'versitygw');

export type S3Kind = 's3proxy' | 'versitygw';
export const S3_KINDS: readonly S3Kind[] = ['s3proxy', 'versitygw'];

const START_MS = 60_000;
const CREDENTIALS = { accessKeyId: 'millrace-test', secretAccessKey: 'millrace-test-secret' };

/** Why a server cannot run here, or undefined when it can. */
export function whyNoS3(kind: S3Kind): string | undefined {
  const hint = 'run `node scripts/s3-servers.ts` first';
  if (kind === 'versitygw') return existsSync(VERSITYGW) ? undefined : `versitygw is not installed: ${hint}`;
  if (spawnSync('java', ['-version']).status !== 0) return 'there is no java';
  return existsSync(S3PROXY_JAR) ? undefined : `s3proxy is not installed: ${hint}`;
}

/** Starts a server with one empty bucket. At the end of the test it is ended and its folder removed. */
export async function testS3(t: Pick<Test, 'teardown'>, kind: S3Kind): Promise<S3Settings> {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-s3-'));
  const port = await freePort();
  const child = kind === 's3proxy' ? await startS3Proxy(folder, port) : await startVersity(folder, port);
  let errors = '';
  child.stderr?.on('data', (text) => {
    errors += text;
  });
  child.stdout?.resume();
  t.teardown(async () => {
    if (child.exitCode === null) {
      const ended = new Promise((resolve) => child.once('exit', resolve));
      child.stdin?.end();
      await ended;
    }
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  });
  const settings = {
    bucket: 'files',
    prefix: 'test/',
    endpoint: `http://127.0.0.1:${port}`,
    region: 'us-east-1',
    pathStyle: true,
    credentials: CREDENTIALS,
  };
  await bucketReady(settings, child, () => errors);
  return settings;
}

async function startS3Proxy(folder: string, port: number): Promise<ChildProcess> {
  const properties = join(folder, 's3proxy.properties');
  await mkdir(join(folder, 'bytes'));
  await writeFile(
    properties,
    [
      `s3proxy.endpoint=http://127.0.0.1:${port}`,
      's3proxy.authorization=aws-v4',
      `s3proxy.identity=${CREDENTIALS.accessKeyId}`,
      `s3proxy.credential=${CREDENTIALS.secretAccessKey}`,
      'jclouds.provider=filesystem-nio2',
      'jclouds.identity=x',
      'jclouds.credential=x',
      `jclouds.filesystem.basedir=${join(folder, 'bytes')}`,
    ].join('\n'),
  );
  return guarded('java', ['-Xmx256m', '-jar', S3PROXY_JAR, '--properties', properties]);
}

async function startVersity(folder: string, port: number): Promise<ChildProcess> {
  const root = join(folder, 'root');
  const sidecar = join(folder, 'sidecar');
  await mkdir(root);
  await mkdir(sidecar);
  const { accessKeyId, secretAccessKey } = CREDENTIALS;
  const gateway = ['--port', `127.0.0.1:${port}`, '--access', accessKeyId, '--secret', secretAccessKey, '--quiet'];
  return guarded(VERSITYGW, [...gateway, 'posix', '--sidecar', sidecar, root]);
}

/**
 * Runs a server under a small guard program that reads from a pipe of the test. When the test ends, in any way, the
 * pipe closes and the guard ends the server.
 */
function guarded(program: string, words: readonly string[]): ChildProcess {
  const script = 'exec 3<&0; "$0" "$@" </dev/null 3<&- & server=$!; cat <&3 >/dev/null; kill -9 $server';
  return spawn('sh', ['-c', script, program, ...words], { stdio: 'pipe' });
}

/**
 * Creates the bucket as soon as the server responds. That it accepts our own credentials proves that it is the server
 * of this test.
 */
async function bucketReady(settings: S3Settings, child: ChildProcess, errors: () => string): Promise<void> {
  const client = s3Client(settings);
  const deadline = Date.now() + START_MS;
  for (;;) {
    try {
      await client.send(new CreateBucketCommand({ Bucket: settings.bucket }));
      break;
    } catch (error) {
      if (child.exitCode !== null || Date.now() > deadline) {
        throw new Error(`The S3 server did not start: ${errors()}`, { cause: error });
      }
      await pause(50);
    }
  }
  client.destroy();
}

/** A separate client, to check what the store has written. */
export function s3Client(settings: S3Settings): S3Client {
  return new S3Client({
    region: settings.region,
    forcePathStyle: true,
    maxAttempts: 1,
    requestChecksumCalculation: 'WHEN_REQUIRED',
    ...(settings.endpoint === undefined ? {} : { endpoint: settings.endpoint }),
    ...(settings.credentials === undefined ? {} : { credentials: settings.credentials }),
  });
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === 'string') throw new Error('No port is free');
  return address.port;
}
