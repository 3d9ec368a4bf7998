/** The set-up of a new installation in Chromium: from the printed link to the first document, without a reload. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import t from 'tap';
import { buildTestApp } from '../../helpers/app.ts';
import { dashboardPage } from '../../helpers/dashboard/dashboard-page.ts';
import { testSmtp } from '../../helpers/network/smtp.ts';
import { testBrowser, whyNoBrowser } from '../../helpers/programs/browser.ts';
import { ask, PASSWORD, signInAdmin, toUser } from '../../helpers/users.ts';

const options = { skip: whyNoBrowser() ?? false, timeout: 120_000 };

t.test('the setup link leads to an administrator, a letter and a first document', options, async (t) => {
  const smtp = await testSmtp(t);
  const { app, services } = await buildTestApp(t, {
    MILLRACE_MODE: 'production',
    MILLRACE_SMTP_URL: smtp.url.replace('//', '//ada:never-shown@'),
    MILLRACE_EMAIL_FROM: 'millrace@example.org',
  });
  const origin = await app.listen({ host: '127.0.0.1', port: 0 });
  const at = await dashboardPage(t, await testBrowser(t), origin, {
    permissions: ['clipboard-read', 'clipboard-write'],
  });
  const { page, complaints, picture, violations } = at;
  const step = (name: string) => page.getByRole('heading', { name, level: 2 });
  const next = (name: string) => page.getByRole('button', { name: `Next: ${name}` }).click();
  const [, token = ''] = (await services.auth.firstAdmin.link(origin)).split('#');
  t.ok(token);
  const requested: string[] = [];
  page.on('request', (request) => requested.push(request.url()));

  const begun = performance.now();
  await page.goto(`${origin}/setup#${token}`);
  await step('Administrator').waitFor();
  await page.waitForURL(`${origin}/dashboard/setup?step=admin`);
  t.strictSame(await violations(), []);
  await picture('setup-owner');
  await page.getByLabel('E-mail address').fill('ada@example.org');
  await page.getByRole('textbox', { name: 'New password' }).fill('password1');
  await page.keyboard.press('Enter');
  await page.getByRole('alert').filter({ hasText: 'one of the most common ones' }).waitFor();
  await page.getByRole('textbox', { name: 'New password' }).fill(PASSWORD);
  await page.keyboard.press('Enter');

  await step('URL of this server').waitFor();
  await page.getByText('MILLRACE_PUBLIC_URL is not set').waitFor();
  t.strictSame(await violations(), []);
  const owner = await services.auth.users.byName('ada@example.org');
  t.equal((await services.auth.sessions.list(owner?._id ?? '', null)).length, 1, 'the set-up leaves one session');

  await next('files');
  await page.getByText(`In MongoDB, database ${services.mongo.data.databaseName}_files`).waitFor();
  await page.getByRole('button', { name: 'Upload test file' }).click();
  await page.getByText('A file was uploaded, read and deleted').waitFor();
  t.equal(await services.mongo.data.collection('_files').countDocuments(), 0);

  await next('e-mail');
  await page.getByRole('button', { name: 'Send test e-mail' }).click();
  await page.getByText('The mail server accepted the e-mail').waitFor();
  t.match(smtp.received(), /RCPT TO:<ada@example\.org>[\s\S]*Subject: E-mail works/);
  t.notMatch(await page.content(), /never-shown/);
  await picture('setup-mail');

  await next('first document');
  await page.getByText('Waiting for the first event').waitFor();
  t.notMatch(await page.content(), /eyJ/, 'the token is masked');
  await page.getByRole('button', { name: 'Copy the command' }).click();
  const command = await page.evaluate<string>('navigator.clipboard.readText()');
  await promisify(execFile)('sh', ['-c', command]);
  await page.getByText('todos.created').waitFor();
  await page.getByText('Buy milk').last().waitFor();
  t.comment(`from the link to the first document in ${Math.round(performance.now() - begun)} ms`);
  await picture('setup-document');
  t.strictSame(await violations(), []);

  await page.setViewportSize({ width: 390, height: 800 });
  await page.emulateMedia({ colorScheme: 'dark' });
  t.equal(await page.evaluate('document.documentElement.scrollWidth'), 390, 'nothing is wider than a phone');
  t.strictSame(await violations(), []);
  await page.goBack();
  await step('E-mail').waitFor();
  await page.goForward();
  await page.getByRole('button', { name: 'Open the dashboard' }).click();
  await page.waitForURL(/\/dashboard\/?$/);
  t.strictSame(
    requested.filter((url) => url.includes(token)),
    [],
    'the secret of the link was in no request address',
  );

  await at.open(`/setup#${token}`);
  await page.getByLabel('E-mail address').fill('eve@example.org');
  await page.getByRole('textbox', { name: 'New password' }).fill(PASSWORD);
  await page.keyboard.press('Enter');
  await page.getByRole('alert').filter({ hasText: 'The link was used' }).waitFor();
  t.strictSame(complaints, []);
});

t.test('a letter that cannot be sent says why, and letters do not come in bursts', async (t) => {
  const none = await buildTestApp(t, { MILLRACE_MODE: 'production' });
  const test = async ({ app, services }: typeof none, roles: readonly string[] = ['owner']) =>
    ask(app, 'POST /admin/emails/test', undefined, await signInAdmin(app, services, roles));
  t.match((await test(none)).json(), { to: 'owner@example.org', sent: false, message: /set MILLRACE_SMTP_URL/ });
  t.equal((await test(none, ['developer'])).statusCode, 403);
  const closed = await buildTestApp(t, {
    MILLRACE_MODE: 'production',
    MILLRACE_SMTP_URL: 'smtp://ada:secret@127.0.0.1:1',
  });
  const verdict = await test(closed);
  t.match(verdict.json(), { sent: false, message: /cannot be reached/ });
  t.notMatch(verdict.body, /secret/);
  const named = { kind: 'admin', username: 'bo', password: PASSWORD, roles: ['manager'] } as const;
  await closed.services.auth.users.create(named, { by: null, request: null });
  const bo = toUser(await ask(closed.app, 'POST /auth/login', { username: 'bo', password: PASSWORD }));
  t.match((await ask(closed.app, 'POST /admin/emails/test', undefined, bo)).json(), { to: null, sent: false });

  const terminal = await buildTestApp(t);
  const owner = await signInAdmin(terminal.app, terminal.services);
  const again = () => ask(terminal.app, 'POST /admin/emails/test', undefined, owner);
  t.match((await again()).json(), { sent: true, message: /in the terminal/ });
  t.match((await again()).json(), { status: 429, code: 'rate-limited' });
  t.match((await ask(terminal.app, 'POST /admin/emails/test')).json(), { code: 'not-authenticated' });
});

t.test('the settings active hold no credential', async (t) => {
  const smtp = 'smtps://ada:hidden-word@mail.example.org:465/?x=hidden-word';
  const { app, services } = await buildTestApp(t, {
    MILLRACE_MODE: 'production',
    MILLRACE_SMTP_URL: smtp,
    MILLRACE_PUBLIC_URL: 'https://api.example.org',
    MILLRACE_QUOTA_FILE_COUNT_PER_USER: '7',
  });
  const response = await ask(app, 'GET /admin/settings/effective', undefined, await signInAdmin(app, services));
  t.match(response.json(), {
    mode: 'production',
    publicUrl: 'https://api.example.org',
    email: { transport: 'smtp', server: 'smtps://mail.example.org:465', from: 'millrace@api.example.org' },
    files: [{ kind: 'gridfs', location: `${services.mongo.data.databaseName}_files` }],
    masterKey: false,
  });
  const { limits } = response.json() as { limits: { setting: string; value: number | null }[] };
  t.equal(limits.find(({ setting }) => setting === 'MILLRACE_QUOTA_FILE_COUNT_PER_USER')?.value, 7);
  t.equal(limits.find(({ setting }) => setting === 'MILLRACE_QUOTA_FILE_BYTES_PER_USER')?.value, null);
  t.notMatch(response.body, /hidden-word/);
  t.notMatch(response.body, /mongodb:\/\//);
});
