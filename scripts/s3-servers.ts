/**
 * Installs the S3 servers that the tests run against, each with the client of its package registry: s3proxy by Maven,
 * versitygw by Go, which takes a minute to compile. A server that cannot be installed is reported and skipped; the
 * tests then report that too. `node scripts/s3-servers.ts [name …]`; without names all.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { S3_CACHE, S3PROXY_JAR, VERSITYGW } from '../test/helpers/files/s3.ts';

const INSTALL_MS = 600_000;

interface Server {
  readonly name: string;
  readonly release: string;
  /** The installed file. */
  readonly file: string;
  readonly tool: string;
  readonly version: readonly string[];
  readonly install: (folder: string) => { readonly args: readonly string[]; readonly env?: Record<string, string> };
}

const SERVERS: readonly Server[] = [
  {
    name: 's3proxy',
    release: '4.1.0',
    file: S3PROXY_JAR,
    tool: 'mvn',
    version: ['-v'],
    install: (folder) => ({
      args: [
        '-B',
        '-q',
        'dependency:copy',
        '-Dartifact=org.gaul:s3proxy:4.1.0:jar:jar-with-dependencies',
        `-DoutputDirectory=${folder}`,
      ],
    }),
  },
  {
    name: 'versitygw',
    release: '1.8.0',
    file: VERSITYGW,
    tool: 'go',
    version: ['version'],
    install: (folder) => ({
      args: ['install', 'github.com/versity/versitygw/cmd/versitygw@v1.8.0'],
      env: { GOBIN: folder },
    }),
  },
];

mkdirSync(S3_CACHE, { recursive: true });
const requested = process.argv.slice(2);
const unknown = requested.filter((name) => SERVERS.every((server) => server.name !== name));
if (unknown.length > 0) {
  console.error(`There is no server ${unknown.join(', ')}: ${SERVERS.map(({ name }) => name).join(', ')}.`);
  process.exit(1);
}
for (const server of SERVERS) {
  if (requested.length > 0 && !requested.includes(server.name)) continue;
  console.log(`${server.name} ${server.release}: ${installed(server)}`);
}

/**
 * Installs into a temporary folder and then moves the whole file to its final path, so an interrupted installation
 * leaves nothing half done.
 */
function installed({ file, tool, version, install }: Server): string {
  if (existsSync(file)) return 'is here';
  if (spawnSync(tool, version).status !== 0) return `skipped, ${tool} is not installed`;
  const folder = mkdtempSync(join(S3_CACHE, 'install-'));
  const { args, env } = install(folder);
  const run = spawnSync(tool, args, {
    env: { ...process.env, ...env },
    timeout: INSTALL_MS,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  if (run.status === 0) renameSync(join(folder, basename(file)), file);
  rmSync(folder, { recursive: true });
  return run.status === 0 ? 'installed' : `skipped, ${tool} could not install it`;
}
