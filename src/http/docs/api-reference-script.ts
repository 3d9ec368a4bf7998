/**
 * Scalar's API reference for browsers, as one script from the installed package, so that no page fetches it from
 * another host. The package offers its script only through its Fastify plugin, so the plugin runs in a server of its
 * own that never listens. Read on first use: no startup waits for five megabytes.
 */
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import Fastify from 'fastify';

const PACKAGE = '@scalar/fastify-api-reference';
const IN_PACKAGE = '/js/scalar.js';

let packed: Promise<Buffer> | undefined;

/**
 * The script.
 * @param gzipped compressed by gzip, as it is stored; uncompressed otherwise
 */
export async function apiReferenceScript(gzipped: boolean): Promise<Buffer> {
  packed ??= read();
  packed.catch(() => {
    packed = undefined;
  });
  return gzipped ? packed : promisify(gunzip)(await packed);
}

async function read(): Promise<Buffer> {
  const { default: scalar } = await import('@scalar/fastify-api-reference');
  const shelf = Fastify();
  await shelf.register(scalar, { routePrefix: '/', configuration: { url: '/openapi.json' } });
  const { statusCode, rawPayload } = await shelf.inject(IN_PACKAGE);
  await shelf.close();
  if (statusCode !== 200) throw new Error(`${PACKAGE} has no ${IN_PACKAGE}`);
  return promisify(gzip)(rawPayload);
}

/** The version of the package, part of the script's URL. */
export async function apiReferenceVersion(): Promise<string> {
  const manifest = new URL('../package.json', import.meta.resolve(PACKAGE));
  const { version }: { version: string } = JSON.parse(await readFile(manifest, 'utf8'));
  return version;
}
