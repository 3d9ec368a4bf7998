/** Addresses of files for what sends no credential: made, kept and renewed by the client, and loaded by a real Chromium. */
import t, { type Test } from 'tap';
import { createClient } from '../../client/client.ts';
import { signInOwner } from '../helpers/accounts.ts';
import { buildTestApp } from '../helpers/app.ts';
import { inPage, otherOrigin, testBrowser, whyNoBrowser } from '../helpers/programs/browser.ts';

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

/** A server in production with a picture that strangers may not read, and a client that may. */
async function stage(t: Test) {
  const { app, parts } = await buildTestApp(t, { MILLRACE_MODE: 'production' });
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const { accessToken } = await signInOwner(app, parts);
  const client = createClient(url, { token: accessToken });
  const picture = await client.upload(new Blob([PNG], { type: 'image/png' }), 'a.png');
  const status = async (address: string) => {
    const answer = await fetch(address);
    await answer.body?.cancel();
    return answer.status;
  };
  return { url, client, picture, status };
}

t.test('an address works without a credential and is renewed before it ends', async (t) => {
  const { client, picture, status } = await stage(t);
  t.equal(await status(picture.url), 401);
  const address = (expiresIn?: number) =>
    client.files.address(picture.id, expiresIn === undefined ? {} : { expiresIn });
  let now = Date.now();
  t.intercept(Date, 'now', { value: () => now });
  const [first, same] = await Promise.all([address(60), address(60)]);
  t.equal(await status(first), 200);
  t.equal(same, first, 'those who ask together wait for one');
  t.not(await address(), first, 'another time is another address');
  now += 44_000;
  t.equal(await address(60), first, 'in the last quarter of its life it is replaced');
  now += 2_000;
  const second = await address(60);
  t.not(second, first);
  t.strictSame([await status(first), await status(second)], [200, 200], 'while the one before still holds');
  now += 20_000;
  t.strictSame([await status(first), await status(second)], [401, 200]);
});

t.test('what cannot be signed is refused each time anew', async (t) => {
  const { client, picture } = await stage(t);
  await t.rejects(client.files.address('nothing'), { code: 'file-not-found' });
  await t.rejects(client.files.address(picture.id, { expiresIn: 10_000 }), { code: 'body-type' });
  t.match(await client.files.address(picture.id), /signature=/);
});

t.test('a refusal of bytes says so to pages of other origins, any other answer does not', async (t) => {
  const { url, picture } = await stage(t);
  const policyOf = async (address: string, init: RequestInit = {}) => {
    const answer = await fetch(address, init);
    await answer.body?.cancel();
    return `${answer.status} ${answer.headers.get('cross-origin-resource-policy')}`;
  };
  t.equal(await policyOf(picture.url), '401 cross-origin');
  t.equal(await policyOf(`${picture.url}?expires=1&signature=x`), '401 cross-origin');
  t.equal(await policyOf(picture.url, { headers: { authorization: 'Bearer wrong' } }), '401 cross-origin');
  t.equal(await policyOf(`${url}/files/${picture.id}`), '401 same-origin');
});

const why = whyNoBrowser();
t.test('in Chromium', why === undefined ? {} : { skip: why }, async (t) => {
  const { client, picture } = await stage(t);
  const page = await (await testBrowser(t)).newPage();
  const told: string[] = [];
  page.on('response', (answer) => told.push(`answered ${answer.status()}`));
  page.on('requestfailed', (request) => told.push(request.failure()?.errorText ?? 'failed'));
  await page.goto(await otherOrigin(t));
  told.length = 0;
  t.equal(await inPage(page, AS_IMAGE, picture.url), 'refused');
  t.strictSame(told, ['answered 401'], 'the page is told why');
  t.same(await inPage(page, AS_IMAGE, await client.files.address(picture.id, { expiresIn: 60 })), [2, 3]);
});
