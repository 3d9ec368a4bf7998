/**
 * Downloads MongoDB's official build for this system. mongodb-memory-server-core selects the archive and unpacks mongod
 * from it. The download is our own: the library checks the server's certificate only if npm is configured to, and a
 * start without a network must continue within seconds.
 */
import { createWriteStream } from 'node:fs';
import { basename, join } from 'node:path';
import { Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { MillraceError } from '../../lib/errors.ts';

/** Timeout of the first byte. */
const RESPONSE_LIMIT_MS = 5000;
/** Timeout of the whole download. */
const LIMIT_MS = 900_000;
/** A version without known vulnerabilities (version-warnings.ts). */
const VERSION = '8.2.10';

/** Downloads an official mongod into `folder` and returns its path. `reach` requests a URL. */
export async function fetchOfficialBuild(
  folder: string,
  onProgress: (line: string) => void,
  reach: typeof fetch = fetch,
): Promise<string> {
  onProgress(`Downloading MongoDB ${VERSION} from the official builds …`);
  // Loaded here and not above: it is needed once on a machine, and loading it takes longer than the rest of a start.
  const { MongoBinaryDownload } = await import('mongodb-memory-server-core/lib/util/MongoBinaryDownload.js');
  const { getOS } = await import('mongodb-memory-server-core/lib/util/getos/index.js');
  class Download extends MongoBinaryDownload {
    override download(url: string): Promise<string> {
      return transfer(url, folder, onProgress, reach);
    }
  }
  return new Download({ downloadDir: folder, version: VERSION, checkMD5: true, os: await getOS() }).getMongodPath();
}

async function transfer(
  url: string,
  folder: string,
  onProgress: (line: string) => void,
  reach: typeof fetch,
): Promise<string> {
  const result = new AbortController();
  const timer = setTimeout(() => result.abort(), RESPONSE_LIMIT_MS);
  const response = await reach(url, { signal: AbortSignal.any([result.signal, AbortSignal.timeout(LIMIT_MS)]) })
    .catch(() => {
      throw new MillraceError('database-unavailable', 'They cannot be reached.');
    })
    .finally(() => clearTimeout(timer));
  if (!response.ok || response.body === null) {
    throw new MillraceError('database-unavailable', `The server returned ${response.status}.`);
  }
  const path = join(folder, basename(new URL(url).pathname));
  const total = Number(response.headers.get('content-length') ?? 0);
  await pipeline(Readable.fromWeb(response.body), meter(total, onProgress), createWriteStream(path));
  return path;
}

/** Passes bytes on and reports each further tenth of the total. */
function meter(total: number, onProgress: (line: string) => void): Transform {
  let passed = 0;
  let reported = 0;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      passed += chunk.length;
      const tenth = total > 1e6 ? Math.floor((passed / total) * 10) : 0;
      if (tenth > reported) onProgress(`MongoDB: ${tenth}0 % of ${Math.round(total / 1e6)} MB`);
      reported = tenth;
      done(null, chunk);
    },
  });
}
