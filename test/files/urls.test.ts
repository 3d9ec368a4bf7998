/** Signed URLs for elements that send no credential: created, cached and renewed by the client, and loaded by a real Chromium. */
import t, { type Test } from 'tap';
import { createClient } from '../../client/client.ts';
import { buildTestApp } from '../helpers/app.ts';
import { inPage, otherOrigin, testBrowser, whyNoBrowser } from '../helpers/programs/browser.ts';
import { signInAdmin } from '../helpers/users.ts';

const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAIAAAADCAIAAAA2iEnWAAAAEElEQVR4nGP4z8AARAwQCgAf7gP9i18U1AAAAABJRU5ErkJggg==',
  'base64',
);
const AS_IMAGE = `(src) => new Promise((resolve) => {
  const image = new Image();
  image.onload = () => resolve([image.naturalWidth, image.naturalHeight]);
  image.onerror = () => resolve('refused');
  image.src = src;
})`;

t.setTimeout(120_000);

/** A production server with a picture that anonymous clients cannot read, and a client that can. */
async function stage(t: Test) {
  const { app, services } = await buildTestApp(t, { MILLRACE_MODE: 'production' });
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const { accessToken } = await signInAdmin(app, services);
  const client = createClient(url, { token: accessToken });
  const picture = await client.upload(new Blob([PNG], { type: 'image/png' }), 'a.png');
  const status = async (address: string) => {
    const response = await fetch(address);
    await response.body?.cancel();
    return response.status;
  };
  return { url, client, picture, status };
}

t.test('A signed URL works without a credential and is renewed before it expires.', async (t) => {
  const { client, picture, status } = await stage(t);
  t.equal(await status(picture.url), 401);
  const address = (expiresIn?: number) =>
    client.files.createSignedUrl(picture.id, expiresIn === undefined ? {} : { expiresIn });
  let now = Date.now();
  t.intercept(Date, 'now', { value: () => now });
  const [first, same] = await Promise.all([address(60), address(60)]);
  t.equal(await status(first), 200);
  t.equal(same, first, 'concurrent callers wait for one request');
  t.not(await address(), first, 'another validity is another URL');
  now += 44_000;
  t.equal(await address(60), first, 'in the last quarter of its life it is replaced');
  now += 2_000;
  const second = await address(60);
  t.not(second, first);
  t.strictSame([await status(first), await status(second)], [200, 200], 'while the previous one is still valid');
  now += 20_000;
  t.strictSame([await status(first), await status(second)], [401, 200]);
});

t.test('An invalid request for a signed URL is rejected.', async (t) => {
  const { client, picture } = await stage(t);
  await t.rejects(client.files.createSignedUrl('nothing'), { code: 'file-not-found' });
  await t.rejects(client.files.createSignedUrl(picture.id, { expiresIn: 10_000 }), { code: 'invalid-body-type' });
  t.match(await client.files.createSignedUrl(picture.id), /signature=/);
});

t.test('Pages of other origins can see errors for bytes, but no other errors.', async (t) => {
  const { url, picture } = await stage(t);
  const policyOf = async (address: string, init: RequestInit = {}) => {
    const response = await fetch(address, init);
    await response.body?.cancel();
    return `${response.status} ${response.headers.get('cross-origin-resource-policy')}`;
  };
  t.equal(await policyOf(picture.url), '401 cross-origin');
  t.equal(await policyOf(`${picture.url}?expires=1&signature=x`), '401 cross-origin');
  t.equal(await policyOf(picture.url, { headers: { authorization: 'Bearer wrong' } }), '401 cross-origin');
  t.equal(await policyOf(`${url}/files/${picture.id}`), '401 same-origin');
});

const why = whyNoBrowser();
t.test('Chromium loads signed URLs.', why === undefined ? {} : { skip: why }, async (t) => {
  const { client, picture } = await stage(t);
  const page = await (await testBrowser(t)).newPage();
  const reported: string[] = [];
  page.on('response', (response) => reported.push(`answered ${response.status()}`));
  page.on('requestfailed', (request) => reported.push(request.failure()?.errorText ?? 'failed'));
  await page.goto(await otherOrigin(t));
  reported.length = 0;
  t.equal(await inPage(page, AS_IMAGE, picture.url), 'refused');
  t.strictSame(reported, ['answered 401'], 'the page receives the error');
  t.same(await inPage(page, AS_IMAGE, await client.files.createSignedUrl(picture.id, { expiresIn: 60 })), [2, 3]);
});
