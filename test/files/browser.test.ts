/** Files in a real Chromium: images and text are shown, and no stored file ever runs as a page of this origin. */
import type { BrowserContext } from 'playwright-core';
import t from 'tap';
import { buildTestApp } from '../helpers/app.ts';
import { type FilePart, multipart } from '../helpers/files/upload.ts';
import { inPage, otherOrigin, testBrowser, whyNoBrowser } from '../helpers/programs/browser.ts';

const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAIAAAADCAIAAAA2iEnWAAAAEElEQVR4nGP4z8AARAwQCgAf7gP9i18U1AAAAABJRU5ErkJggg==',
  'base64',
);
const SCRIPT = 'document.documentElement.setAttribute("ran", "yes"); parent.postMessage("ran", "*");';
const HTML = `<!doctype html><html><body>page<script>${SCRIPT}</script></body></html>`;
const SVG = `<svg xmlns="http://www.w3.org/2000/svg" width="2" height="3"><script>${SCRIPT}</script></svg>`;
const XML = `<x:html xmlns:x="http://www.w3.org/1999/xhtml"><x:script>${SCRIPT}</x:script></x:html>`;
const GIF_AND_SCRIPT = Buffer.from(`GIF89a/*\x01\0\x01\0\0\0\0*/=1;${SCRIPT}`, 'latin1');
const PDF_AND_HTML = `%PDF-1.4\n<html><script>${SCRIPT}</script></html>`;

const DANGEROUS: readonly (readonly [string, FilePart])[] = [
  ['html', { name: 'page.html', type: 'text/html', bytes: HTML }],
  ['svg', { name: 'image.svg', type: 'image/svg+xml', bytes: SVG }],
  ['xml', { name: 'doc.xml', type: 'text/xml', bytes: XML }],
  ['xhtml', { name: 'page.xhtml', type: 'application/xhtml+xml', bytes: XML }],
  ['html named png', { name: 'image.png', type: 'image/png', bytes: HTML }],
  ['html without a type', { name: 'page.html', type: 'application/octet-stream', bytes: HTML }],
  ['png named html', { name: 'page.html', type: 'text/html', bytes: PNG }],
  ['a script', { name: 'app.js', type: 'text/javascript', bytes: SCRIPT }],
];

const SHOWN: readonly (readonly [string, FilePart])[] = [
  ['a polyglot of gif and script', { name: 'a.gif', type: 'image/gif', bytes: GIF_AND_SCRIPT }],
  ['a polyglot of pdf and html', { name: 'a.pdf', type: 'application/pdf', bytes: PDF_AND_HTML }],
  ['text that is html', { name: 'a.txt', type: 'text/plain', bytes: HTML }],
];

const SHOWS_PDF = '() => navigator.pdfViewerEnabled';
const FRAMED = `(src) => new Promise((resolve) => {
  addEventListener('message', () => resolve('ran'));
  const frame = document.createElement('iframe');
  frame.src = src;
  document.body.append(frame);
  fetch(src).then((answer) => answer.blob()).then(() => setTimeout(() => resolve('quiet'), 200));
})`;
const AS_SCRIPT = `(src) => new Promise((resolve) => {
  const script = document.createElement('script');
  script.src = src;
  script.onload = () => resolve('ran');
  script.onerror = () => resolve('refused');
  document.head.append(script);
})`;
const AS_IMAGE = `(src) => new Promise((resolve) => {
  const image = new Image();
  image.onload = () => resolve([image.naturalWidth, image.naturalHeight]);
  image.onerror = () => resolve('refused');
  image.src = src;
})`;

t.setTimeout(180_000);

const why = whyNoBrowser();
t.test('Chromium runs no stored file as a page.', why === undefined ? {} : { skip: why }, async (t) => {
  t.setTimeout(180_000);
  const { app } = await buildTestApp(t);
  const base = await app.listen({ port: 0, host: '127.0.0.1' });
  const elsewhere = await otherOrigin(t);
  const context = await (await testBrowser(t, true)).newContext();

  const put = async (part: FilePart): Promise<string> => {
    const { send, headers } = await multipart(part);
    const response = await fetch(`${base}/files`, { method: 'POST', body: new Uint8Array(send), headers });
    const { url }: { url: string } = JSON.parse(await response.text());
    return url;
  };
  /** Runs code in a page that shows `at`. */
  const on = async <T>(at: string, code: string, ...values: unknown[]): Promise<T> => {
    const page = await context.newPage();
    await page.goto(at);
    const result = await inPage<T>(page, code, ...values);
    await page.close();
    return result;
  };

  t.jobs = 3;
  for (const [name, part] of DANGEROUS) {
    t.test(`${name} is downloaded, never a page`, async (t) => {
      const url = await put(part);
      t.equal(await opened(context, url), 'downloaded');
      t.equal(await on(elsewhere, FRAMED, url), 'quiet', 'nor in a frame');
      t.equal(await on(elsewhere, AS_SCRIPT, url), 'refused', 'nor as a script');
    });
  }

  for (const [name, part] of SHOWN) {
    t.test(`${name} is neither a page nor a script`, async (t) => {
      const url = await put(part);
      // A browser without a PDF viewer downloads such a file.
      const isShown = part.type !== 'application/pdf' || (await on(elsewhere, SHOWS_PDF));
      t.equal(await opened(context, url), isShown ? 'quiet' : 'downloaded');
      t.equal(await on(elsewhere, AS_SCRIPT, url), 'refused');
    });
  }

  t.test('Pages of any origin show stored images, including SVG.', async (t) => {
    const png = await put({ name: 'a.png', type: 'image/png', bytes: PNG });
    const svg = await put({ name: 'a.svg', type: 'image/svg+xml', bytes: SVG });
    t.same(await on(elsewhere, AS_IMAGE, png), [2, 3]);
    t.same(await on(elsewhere, AS_IMAGE, svg), [2, 3]);
    t.same(await on(png, '() => [document.images[0].naturalWidth, self.origin]'), [2, 'null'], 'opened, in a sandbox');
  });

  t.test('Text is shown unchanged.', async (t) => {
    const url = await put({ name: 'a.txt', bytes: 'Grüße, 世界 <b>' });
    t.equal(await on(url, '() => document.body.innerText'), 'Grüße, 世界 <b>');
  });
});

/** Opens a URL as a page: `downloaded`, or whether the script in it `ran` or all stayed `quiet`. */
async function opened(context: BrowserContext, url: string): Promise<string> {
  const page = await context.newPage();
  const download = page.waitForEvent('download', { timeout: 0 }).then(
    () => 'downloaded',
    () => 'closed',
  );
  const shown = page.goto(url).then(
    () => inPage<string>(page, '() => document.documentElement.hasAttribute("ran") ? "ran" : "quiet"'),
    () => download,
  );
  const outcome = await Promise.race([download, shown]);
  await page.close();
  return outcome;
}
