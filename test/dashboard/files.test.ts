/** The page Files in Chromium: uploads with progress, previews, metadata, a signed URL, and what others upload and delete. */
import t from 'tap';
import { buildTestApp } from '../helpers/app.ts';
import { dashboardPage } from '../helpers/dashboard/dashboard-page.ts';
import { inPage, testBrowser, whyNoBrowser } from '../helpers/programs/browser.ts';
import { ask, signInAdmin } from '../helpers/users.ts';

/** A picture of one pixel. */
const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==';

/** Drops files on the page, as from another window. */
const DROP = `(names) => {
  const transfer = new DataTransfer();
  for (const name of names) transfer.items.add(new File(['dropped ' + name], name, { type: 'text/plain' }));
  const area = document.querySelector('main h1').closest('main').querySelector('[data-drop]');
  area.dispatchEvent(new DragEvent('dragover', { dataTransfer: transfer, bubbles: true, cancelable: true }));
  area.dispatchEvent(new DragEvent('drop', { dataTransfer: transfer, bubbles: true, cancelable: true }));
}`;

/** The width of the first preview, when it is loaded. */
const WIDTH = `(async () => {
  const image = document.querySelector('main li img');
  await image.decode();
  return image.naturalWidth;
})()`;

t.test('files', { skip: whyNoBrowser() ?? false, timeout: 120_000 }, async (t) => {
  const { app, services } = await buildTestApp(t, { MILLRACE_MODE: 'production' });
  const origin = await app.listen({ host: '127.0.0.1', port: 0 });
  const owner = await signInAdmin(app, services);
  const viewer = await signInAdmin(app, services, ['viewer']);
  const browser = await testBrowser(t);
  const upload = async (
    name: string,
    text: string,
    headers: Record<string, string> = owner.headers,
    metadata?: object,
  ) => {
    const body = new FormData();
    if (metadata !== undefined) body.set('metadata', JSON.stringify(metadata));
    body.set('file', new Blob([text], { type: 'text/plain' }), name);
    return await fetch(`${origin}/files`, { method: 'POST', headers, body });
  };

  const { page, complaints, enter, go, picture, violations } = await dashboardPage(t, browser, origin);
  const card = (name: string) => page.getByRole('button', { name, exact: true });
  await enter('/files', 'owner@example.org');

  await t.test('teaches how the first one comes', async (t) => {
    await page.getByText('No files yet').waitFor();
    await page.getByText(`curl ${origin}/files \\ -H "authorization: Bearer $TOKEN" -F`).waitFor();
    t.strictSame(await violations(), []);
  });

  await t.test('uploads what is chosen and what is dropped, several at once', async (t) => {
    await page.locator('input[type=file]').setInputFiles([
      { name: 'pixel.png', mimeType: 'image/png', buffer: Buffer.from(PIXEL, 'base64') },
      { name: 'large.bin', mimeType: 'application/octet-stream', buffer: Buffer.alloc(5_000_000, 1) },
    ]);
    await page.getByText('2 of 2 uploaded').waitFor();
    t.equal(await page.getByRole('progressbar', { name: 'Upload of large.bin' }).getAttribute('aria-valuenow'), '100');
    await page.getByRole('button', { name: 'Clear' }).click();
    await inPage(page, DROP, ['one.txt', 'two.txt']);
    await card('one.txt').waitFor();
    await card('two.txt').waitFor();
    await page.getByRole('heading', { name: '4 files' }).waitFor();
    const shown = await page.evaluate<number>(WIDTH);
    t.equal(shown, 1, 'the picture itself is the preview');
  });

  await t.test('follows what others upload', async (t) => {
    await upload('report <b>2.txt', 'numbers', owner.headers, { of: 'docs' });
    await card('report <b>2.txt').waitFor();
    await page.getByRole('button', { name: 'Clear' }).click();
    await picture('files');
    t.strictSame(await violations(), []);
  });

  await t.test('deletes several that are chosen, after asking', async (t) => {
    for (const name of ['old-1.txt', 'old-2.txt']) await upload(name, 'old');
    for (const name of ['old-1.txt', 'old-2.txt']) await page.getByLabel(`Select ${name}`).check();
    await page.getByText('2 files selected').waitFor();
    t.strictSame(await violations(), []);
    await page.getByRole('button', { name: 'Delete selected' }).click();
    await page
      .getByRole('dialog', { name: 'Delete 2 files?' })
      .getByRole('button', { name: 'Delete', exact: true })
      .click();
    await page.getByRole('heading', { name: '5 files' }).waitFor();
    t.equal(await page.getByText('selected').count(), 0);
    t.equal((await ask(app, 'GET /files', undefined, owner)).json().length, 5);
  });

  await t.test('finds by name and by type, and the address says it', async (t) => {
    await page.getByRole('textbox', { name: 'Name' }).fill('PIX');
    await page.getByRole('heading', { name: '1 file', exact: true }).waitFor();
    await page.waitForURL(/name=PIX/);
    await go('/files?type=text/');
    await page.getByRole('heading', { name: '3 files' }).waitFor();
    t.equal(await page.getByRole('combobox', { name: 'Type' }).inputValue(), 'Text');
  });

  await t.test('tells what is known of one and where it is used, gives an address away, and deletes it', async (t) => {
    const files: { readonly id: string; readonly name: string; readonly url: string }[] = (
      await ask(app, 'GET /files', undefined, owner)
    ).json();
    const report = files.find(({ name }) => name === 'report <b>2.txt');
    await ask(app, 'POST /api/letters', { id: 'by-address', text: 'Hello', picture: report?.url }, owner);
    await ask(app, 'POST /api/letters', { id: 'other', picture: files.find((one) => one !== report)?.url }, owner);
    await ask(app, 'POST /api/albums', { id: 'by-id', files: [report?.id] }, owner);
    await card('report <b>2.txt').click();
    const detail = page.getByRole('dialog', { name: 'report <b>2.txt', exact: true });
    await detail.getByRole('button', { name: 'Where is it used?' }).click();
    await detail.getByRole('link', { name: 'by-id' }).waitFor();
    t.strictSame(await detail.getByRole('status').getByRole('link').allTextContents(), ['by-id', 'by-address']);
    await detail.getByText('{"of":"docs"}').waitFor();
    await page.reload();
    await detail.getByText('7 bytes').waitFor();
    await detail.getByRole('button', { name: 'Create signed URL' }).click();
    const address = await detail.getByLabel('the URL', { exact: true }).innerText();
    const opened = await detail.getByRole('link', { name: 'Open file' }).getAttribute('href');
    t.equal(await (await fetch(`${origin}${opened}`)).text(), 'numbers');
    await picture('files-detail');
    t.equal(await (await fetch(address)).text(), 'numbers', 'works without a credential');
    t.strictSame(await violations(), []);
    await detail.getByRole('button', { name: 'Delete' }).click();
    await page
      .getByRole('dialog', { name: /^Delete report/ })
      .getByRole('button', { name: 'Delete' })
      .click();
    await detail.waitFor({ state: 'detached' });
    await page.getByRole('heading', { name: '2 files' }).waitFor();
    t.equal((await fetch(address)).status, 404);
  });

  await t.test('shows what the server refuses', async () => {
    await page.route('**/files', (route) =>
      route.request().method() === 'POST'
        ? route.continue({ headers: { ...route.request().headers(), 'idempotency-key': 'k' } })
        : route.fallback(),
    );
    await page
      .locator('input[type=file]')
      .setInputFiles([{ name: 'no.txt', mimeType: 'text/plain', buffer: Buffer.from('x') }]);
    await page.getByRole('alert').getByText('Idempotency-Key is not supported for uploads').waitFor();
    await page.unrouteAll();
  });
  t.strictSame(complaints, []);

  await t.test('a viewer on a phone looks and may not change', async (t) => {
    const phone = await dashboardPage(t, browser, origin, {
      viewport: { width: 390, height: 800 },
      colorScheme: 'dark',
    });
    await phone.enter('/files', 'viewer@example.org');
    await phone.page.getByRole('heading', { name: '4 files' }).waitFor();
    t.ok(await phone.page.getByRole('button', { name: 'Upload' }).isDisabled());
    t.equal(await phone.page.evaluate('document.documentElement.scrollWidth'), 390, 'nothing is wider than a phone');
    t.strictSame(await phone.violations(), []);
    t.equal((await upload('no.txt', 'no', viewer.headers)).status, 403);
    const [{ id }] = (await ask(app, 'GET /files', undefined, owner)).json();
    t.equal((await ask(app, `DELETE /files/${id}`, undefined, viewer)).statusCode, 403);
    t.strictSame(phone.complaints, []);
  });
});
