/**
 * The pages behind links in e-mails, in a browser: they work under their own policy, on a phone, and store nothing of
 * the secret.
 */
import t from 'tap';
import { buildTestApp } from '../../helpers/app.ts';
import { testSmtp } from '../../helpers/network/smtp.ts';
import { inPage, testBrowser, whyNoBrowser } from '../../helpers/programs/browser.ts';
import { until } from '../../helpers/until.ts';
import { PASSWORD, signIn, signUp } from '../../helpers/users.ts';

const NEXT = 'five paper planes glide';

t.test('the page that sets a new password', { skip: whyNoBrowser() ?? false }, async (t) => {
  const smtp = await testSmtp(t);
  const { app } = await buildTestApp(t, { MILLRACE_SMTP_URL: smtp.url });
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  await signUp(app, 'ada', { email: 'ada@example.org' });
  await app.inject({ method: 'POST', url: '/auth/reset', payload: { email: 'ada@example.org' } });
  const token = () => /reset#([\w-]{43})/.exec(smtp.received())?.[1];
  await until(() => token() !== undefined, 'the letter arrives');
  const browser = await testBrowser(t);
  const page = await browser.newPage({ viewport: { width: 360, height: 740 } });
  const complaints: string[] = [];
  page.on('console', (message) => complaints.push(message.text()));
  page.on('pageerror', (error) => complaints.push(error.message));
  const requested: string[] = [];
  page.on('request', (request) => requested.push(request.url()));
  const says = () => page.locator('#says').textContent();

  await page.goto(`${url}/reset#${token()}`);
  t.equal(page.url(), `${url}/reset`, 'the secret leaves the address');
  t.equal(await inPage<number>(page, 'function width() { return document.documentElement.scrollWidth }'), 360);
  await page.getByLabel('New password').fill('password1');
  await page.getByRole('button').click();
  await page.getByText('one of the most common ones').waitFor();
  await page.getByLabel('New password').fill(NEXT);
  await page.getByRole('button').click();
  await page.getByText('Done.').waitFor();
  t.match(await says(), /Sign in with the new password/);
  t.equal(await page.locator('form').isVisible(), false);
  t.ok((await signIn(app, 'ada', NEXT)).id);
  await t.rejects(signIn(app, 'ada', PASSWORD));

  await page.goto(`${url}/reset`);
  t.match(await says(), /incomplete/);
  t.strictSame(
    complaints.filter((line) => !/status of 400|^\[DOM\]/.test(line)),
    [],
    'nothing is refused by its own policy',
  );
  t.strictSame(
    requested.filter((one) => !one.startsWith(url)),
    [],
    'nothing comes from elsewhere',
  );
});

t.test('the page that verifies an e-mail address', { skip: whyNoBrowser() ?? false }, async (t) => {
  const smtp = await testSmtp(t);
  const { app, services } = await buildTestApp(t, { MILLRACE_SMTP_URL: smtp.url });
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const browser = await testBrowser(t);
  const page = await browser.newPage({ viewport: { width: 360, height: 740 } });
  const open = async (name: string) => {
    const { id } = await signUp(app, name, { email: `${name}@example.org` });
    const token = () => new RegExp(`To: ${name}@example.org[^]*?verify#([\\w-]{43})`).exec(smtp.received())?.[1];
    await until(() => token() !== undefined, 'the e-mail arrives');
    await page.goto(`${url}/verify#${token()}`);
    return id;
  };

  const known = await open('ada');
  t.equal(await inPage<number>(page, 'function width() { return document.documentElement.scrollWidth }'), 360);
  await page.getByLabel('Password', { exact: true }).fill('not my password');
  await page.getByRole('button', { name: 'Verify', exact: true }).click();
  await page.getByText('The user name or the password is wrong').waitFor();
  await page.getByLabel('Password', { exact: true }).fill(PASSWORD);
  await page.getByRole('button', { name: 'Verify', exact: true }).click();
  await page.getByText('Done.').waitFor();
  t.strictSame(await page.locator('form:visible').count(), 0);
  t.match(await services.auth.users.get(known), { emailVerified: true });
  t.ok(await signIn(app, 'ada'), 'the password stays');

  const foreign = await open('eve');
  await page.getByLabel('New password').fill(NEXT);
  await page.getByRole('button', { name: 'Verify with a new password' }).click();
  await page.getByText('Sign in with the new password').waitFor();
  t.match(await services.auth.users.get(foreign), { emailVerified: true });
  t.ok(await signIn(app, 'eve', NEXT));
  await t.rejects(signIn(app, 'eve', PASSWORD));
});

t.test(
  'the page that opens a native app passes the secret on in the link',
  { skip: whyNoBrowser() ?? false },
  async (t) => {
    const native = 'com.example.app:/here&there';
    const { app } = await buildTestApp(t, { MILLRACE_REDIRECT_URLS: native });
    const url = await app.listen({ host: '127.0.0.1', port: 0 });
    const page = await (await testBrowser(t)).newPage();
    const complaints: string[] = [];
    page.on('console', (message) => complaints.push(message.text()));
    page.on('pageerror', (error) => complaints.push(error.message));
    const opened = `${url}/open-app?to=${encodeURIComponent(native)}`;
    await page.goto(`${opened}#secret`);
    t.equal(await page.getByRole('link').getAttribute('href'), `${native}#secret`);
    t.equal(page.url(), opened, 'the secret leaves the address');
    t.strictSame(complaints, []);
  },
);
