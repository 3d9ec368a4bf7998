/**
 * Our own sources that a browser loads: the client and the examples, as plain JavaScript. The package contains them
 * compiled; when run from sources, Node strips their types, once per file.
 */
import { readFile } from 'node:fs/promises';
import * as nodeModule from 'node:module';

const COMPILED = !import.meta.url.endsWith('.ts');
const FOLDER = new URL(COMPILED ? '../browser/' : '../../', import.meta.url);
/** Only these files are served: an external name never becomes a path. */
const PLACES = /^(?:client|examples\/[a-z]+)\/[a-z-]+\.(?:js|css|html)$/;

const TYPES: Readonly<Record<string, string>> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  html: 'text/html; charset=utf-8',
};

export interface BrowserFile {
  readonly type: string;
  readonly text: string;
}

const kept = new Map<string, BrowserFile>();

/**
 * A file for the browser, or null if there is none with that name.
 * @param path such as `client/client.js`
 */
export async function readBrowserFile(path: string): Promise<BrowserFile | null> {
  const known = kept.get(path);
  if (known !== undefined) return known;
  const ending = /[a-z]+$/.exec(path)?.[0] ?? '';
  const type = PLACES.test(path) ? TYPES[ending] : undefined;
  if (type === undefined) return null;
  const text = await (ending === 'js' && !COMPILED ? stripped(path) : read(path));
  if (text === null) return null;
  const file = { type, text };
  kept.set(path, file);
  return file;
}

async function read(path: string): Promise<string | null> {
  try {
    return await readFile(new URL(path, FOLDER), 'utf8');
  } catch {
    return null;
  }
}

async function stripped(path: string): Promise<string | null> {
  const source = await read(path.replace(/\.js$/, '.ts'));
  if (source === null) return null;
  return nodeModule.stripTypeScriptTypes(source).replaceAll(/(from '\.[^']+)\.ts'/g, "$1.js'");
}
