/** The set-up of a new installation in Chromium: from the printed link to the first document, without a reload. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import t from 'tap';
import { ask, PASSWORD, signInOwner, toAccount } from '../../helpers/accounts.ts';
import { buildTestApp } from '../../helpers/app.ts';
import { dashboardPage } from '../../helpers/dashboard/dashboard-page.ts';
import { testSmtp } from '../../helpers/network/smtp.ts';
import { testBrowser, whyNoBrowser } from '../../helpers/programs/browser.ts';

const options = { skip: whyNoBrowser() ?? false, timeout: 120_000 };

t.test('the set-up link leads to an owner, a letter and a first document', options, async (t) => {
  const smtp = await testSmtp(t);
  const { app, parts } = await buildTestApp(t, {
    MILLRACE_MODE: 'production',
    MILLRACE_SMTP_URL: smtp.url.replace('//', '//ada:never-shown@'),
    MILLRACE_MAIL_FROM: 'millrace@example.org',
  });
  const origin = await app.listen({ host: '127.0.0.1', port: 0 });
  const at = await dashboardPage(t, await testBrowser(t), origin, {
    permissions: ['clipboard-read', 'clipboard-write'],
  });
  const { page, complaints, picture, violations } = at;
  const step = (name: string) => page.getByRole('heading', { name, level: 2 });
  const next = (name: string) => page.getByRole('button', { name: `Next: ${name}` }).click();
  const [, token = ''] = (await parts.auth.owners.link(origin)).split('#');
  t.ok(token);
  const asked: string[] = [];
  page.on('request', (request) => asked.push(request.url()));

  const begun = performance.now();
  await page.goto(`${origin}/setup#${token}`);
  await step('Owner').waitFor();
  await page.waitForURL(`${origin}/dashboard/setup?step=owner`);
  t.strictSame(await violations(), []);
  await picture('setup-owner');
  await page.getByLabel('E-mail address').fill('ada@example.org');
  await page.getByRole('textbox', { name: 'New password' }).fill('password1');
  await page.keyboard.press('Enter');
  await page.getByRole('alert').filter({ hasText: 'one that attackers try first' }).waitFor();
  await page.getByRole('textbox', { name: 'New password' }).fill(PASSWORD);
  await page.keyboard.press('Enter');

  await step('The address of this server').waitFor();
  await page.getByText('MILLRACE_PUBLIC_URL is not set').waitFor();
  t.strictSame(await violations(), []);
  const owner = await parts.auth.users.byName('ada@example.org');
  t.equal((await parts.auth.sessions.list(owner?._id ?? '', null)).length, 1, 'the set-up leaves one session');

  await next('files');
  await page.getByText(`In MongoDB, database ${parts.mongo.data.databaseName}_files`).waitFor();
  await page.getByRole('button', { name: 'Upload a test file' }).click();
  await page.getByText('A file was uploaded, read and deleted').waitFor();
  t.equal(await parts.mongo.data.collection('_files').countDocuments(), 0);

  await next('mail');
  await page.getByRole('button', { name: 'Send a test letter' }).click();
  await page.getByText('The mail server has taken the letter').waitFor();
  t.match(smtp.received(), /RCPT TO:<ada@example\.org>[\s\S]*Subject: Mail works/);
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
  await step('Mail').waitFor();
  await page.goForward();
  await page.getByRole('button', { name: 'Open the dashboard' }).click();
  await page.waitForURL(/\/dashboard\/?$/);
  t.strictSame(
    asked.filter((url) => url.includes(token)),
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
  const test = async ({ app, parts }: typeof none, roles: readonly string[] = ['owner']) =>
    ask(app, 'POST /admin/mail/test', undefined, await signInOwner(app, parts, roles));
  t.match((await test(none)).json(), { to: 'owner@example.org', sent: false, verdict: /set MILLRACE_SMTP_URL/ });
  t.equal((await test(none, ['developer'])).statusCode, 403);
  const closed = await buildTestApp(t, {
    MILLRACE_MODE: 'production',
    MILLRACE_SMTP_URL: 'smtp://ada:secret@127.0.0.1:1',
  });
  const verdict = await test(closed);
  t.match(verdict.json(), { sent: false, verdict: /cannot be reached/ });
  t.notMatch(verdict.body, /secret/);
  const named = { kind: 'owner', username: 'bo', password: PASSWORD, roles: ['admin'] } as const;
  await closed.parts.auth.users.create(named, { by: null, request: null });
  const bo = toAccount(await ask(closed.app, 'POST /auth/login', { username: 'bo', password: PASSWORD }));
  t.match((await ask(closed.app, 'POST /admin/mail/test', undefined, bo)).json(), { to: null, sent: false });

  const terminal = await buildTestApp(t);
  const owner = await signInOwner(terminal.app, terminal.parts);
  const again = () => ask(terminal.app, 'POST /admin/mail/test', undefined, owner);
  t.match((await again()).json(), { sent: true, verdict: /at the terminal/ });
  t.match((await again()).json(), { status: 429, code: 'rate-limited' });
  t.match((await ask(terminal.app, 'POST /admin/mail/test')).json(), { code: 'not-authenticated' });
});

t.test('the settings in force hold no credential', async (t) => {
  const smtp = 'smtps://ada:hidden-word@mail.example.org:465/?x=hidden-word';
  const { app, parts } = await buildTestApp(t, {
    MILLRACE_MODE: 'production',
    MILLRACE_SMTP_URL: smtp,
    MILLRACE_PUBLIC_URL: 'https://api.example.org',
    MILLRACE_QUOTA_FILES: '7',
  });
  const answer = await ask(app, 'GET /admin/settings/effective', undefined, await signInOwner(app, parts));
  t.match(answer.json(), {
    mode: 'production',
    publicUrl: 'https://api.example.org',
    mail: { way: 'smtp', server: 'smtps://mail.example.org:465', from: 'millrace@api.example.org' },
    files: [{ kind: 'gridfs', place: `${parts.mongo.data.databaseName}_files` }],
    masterKey: false,
  });
  const { limits } = answer.json() as { limits: { setting: string; value: number | null }[] };
  t.equal(limits.find(({ setting }) => setting === 'MILLRACE_QUOTA_FILES')?.value, 7);
  t.equal(limits.find(({ setting }) => setting === 'MILLRACE_QUOTA_BYTES')?.value, null);
  t.notMatch(answer.body, /hidden-word/);
  t.notMatch(answer.body, /mongodb:\/\//);
});
