/**
 * The pages of the dashboard as they were built for browsers. The package contains them; in a clone the start builds them
 * when they are missing or older than their sources.
 */
import { readFile, stat } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

const COMPILED = !import.meta.url.endsWith('.ts');

const BUILT = fileURLToPath(new URL(COMPILED ? '../browser/dashboard/' : '../../dashboard/dist/', import.meta.url));

/** A script, style or picture of the page. Built again under another name when its content changes. */
const ASSET = /^[\w.-]+\.(js|css|svg)$/;
const TYPES: Readonly<Record<string, string>> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
};
/** The compressed copies that the build makes, the smaller first. */
const COPIES = [
  { encoding: 'br', ending: '.br' },
  { encoding: 'gzip', ending: '.gz' },
];

/** How the build refers to scripts and styles in the page. */
const ASSETS = /(?<=")\.\/assets\//g;
/** What the build wrote instead of the nonce of a response. */
const NONCE = /__NONCE__/g;

/** The one page of the dashboard, which shows all others. Read again after each build. */
export class BuiltPage {
  #kept: { readonly changedAt: number; readonly html: string } | null = null;
  readonly #assets: string;

  /** @param basePath the path below which clients reach this server; empty for none */
  constructor(basePath: string) {
    this.#assets = `${basePath}/dashboard/assets/`;
  }

  /**
   * @param nonce for the styles that the page makes, unguessable and used once
   * @returns null where it is not built
   */
  async html(nonce: string): Promise<string | null> {
    const path = `${BUILT}index.html`;
    const changedAt = await stat(path).then(
      ({ mtimeMs }) => mtimeMs,
      () => null,
    );
    if (changedAt === null) return null;
    if (this.#kept?.changedAt !== changedAt) {
      const html = (await readFile(path, 'utf8')).replaceAll(ASSETS, this.#assets);
      this.#kept = { changedAt, html };
    }
    return this.#kept.html.replaceAll(NONCE, nonce);
  }
}

export interface BuiltAsset {
  readonly type: string;
  /** Of the bytes; null when they are not compressed. */
  readonly encoding: string | null;
  readonly bytes: Buffer;
}

/**
 * @param name as it came in the address
 * @param accepted the header `Accept-Encoding`
 * @returns null where there is none of that name
 */
export async function readBuiltAsset(name: string, accepted: string): Promise<BuiltAsset | null> {
  const type = TYPES[ASSET.exec(name)?.[1] ?? ''];
  if (type === undefined) return null;
  const copies = COPIES.filter(({ encoding }) => new RegExp(`\\b${encoding}\\b`).test(accepted));
  for (const { encoding, ending } of [...copies, { encoding: null, ending: '' }]) {
    const bytes = await readFile(`${BUILT}assets/${name}${ending}`).catch(() => null);
    if (bytes !== null) return { type, encoding, bytes };
  }
  return null;
}
