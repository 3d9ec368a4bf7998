/** A video in a real Chromium, from a page of another origin: sought to any position by ranges, and played when opened. */
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';
import t from 'tap';
import { buildTestApp } from '../helpers/app.ts';
import { multipart } from '../helpers/files/upload.ts';
import { inPage, otherOrigin, testBrowser, whyNoBrowser } from '../helpers/programs/browser.ts';

/** Ten seconds of noise, so that it is too large to be fetched at once, encoded by the browser itself. */
const MAKE = `async () => {
  const { Output, WebMOutputFormat, BufferTarget, CanvasSource } = Mediabunny;
  const canvas = new OffscreenCanvas(320, 240);
  const paint = canvas.getContext('2d');
  const output = new Output({ format: new WebMOutputFormat(), target: new BufferTarget() });
  const source = new CanvasSource(canvas, { codec: 'vp8', bitrate: 8e6, keyFrameInterval: 1 });
  output.addVideoTrack(source);
  await output.start();
  const image = paint.createImageData(320, 240);
  for (let frame = 0; frame < 100; frame++) {
    for (let at = 0; at < image.data.length; at += 65536) {
      crypto.getRandomValues(new Uint8Array(image.data.buffer, at, Math.min(65536, image.data.length - at)));
    }
    for (let at = 3; at < image.data.length; at += 4) image.data[at] = 255;
    paint.putImageData(image, 0, 0);
    await source.add(frame / 10, 0.1);
  }
  await output.finalize();
  const bytes = new Uint8Array(output.target.buffer);
  let text = '';
  for (let at = 0; at < bytes.length; at += 8192) text += String.fromCharCode(...bytes.subarray(at, at + 8192));
  return btoa(text);
}`;

/** Seeks a video to some seconds, one after the other, and returns where it arrived. */
const WIND = `async (src, seconds) => {
  const video = document.createElement('video');
  video.preload = 'metadata';
  video.muted = true;
  const until = (event) => new Promise((resolve, reject) => {
    video.addEventListener(event, resolve, { once: true });
    video.addEventListener('error', () => reject(new Error(video.error.message)), { once: true });
  });
  const loaded = until('loadeddata');
  video.src = src;
  document.body.append(video);
  await loaded;
  const reached = [];
  for (const second of seconds) {
    const arrived = until('seeked');
    video.currentTime = second;
    await arrived;
    reached.push(Math.round(video.currentTime));
  }
  return reached;
}`;

t.setTimeout(180_000);

const why = whyNoBrowser();
t.test('Chromium seeks and plays a stored video.', why === undefined ? {} : { skip: why }, async (t) => {
  t.setTimeout(120_000);
  const { app } = await buildTestApp(t);
  const base = await app.listen({ port: 0, host: '127.0.0.1' });
  const page = await (await testBrowser(t)).newPage();
  await page.goto(await otherOrigin(t));

  const video = await makeVideo(page);
  t.comment(`${video.length} bytes of WebM`);
  const { send, headers } = await multipart({ name: 'noise.webm', type: 'video/webm', bytes: video });
  const upload = await fetch(`${base}/files`, { method: 'POST', body: new Uint8Array(send), headers });
  const { url, type }: { url: string; type: string } = JSON.parse(await upload.text());
  t.equal(type, 'video/webm');

  const responses: string[] = [];
  page.on('response', (response) => {
    if (response.url() === url) responses.push(`${response.status()} ${response.headers()['content-range']}`);
  });
  t.same(await inPage(page, WIND, url, [9, 1, 5]), [9, 1, 5], 'it arrives wherever it is wound to');
  t.comment(responses.join(' · '));
  t.ok(
    responses.every((response) => response.startsWith('206 bytes ')),
    'all of it comes in ranges',
  );
  const starts = responses.map((response) => Number(/bytes (\d+)-/.exec(response)?.[1]));
  t.ok(Math.max(...starts) > video.length / 2, 'the end is fetched without the bytes before it');

  await page.goto(url);
  await page.waitForFunction('document.querySelector("video")?.readyState >= 2');
  t.pass('opened by itself it plays');
});

async function makeVideo(page: Page): Promise<Buffer> {
  const main = createRequire(import.meta.url).resolve('mediabunny');
  await page.addScriptTag({ path: main.replace(/[^/\\]+$/, 'mediabunny.min.cjs') });
  return Buffer.from(await inPage<string>(page, MAKE), 'base64');
}
