/**
 * Letters in Chromium: an administrator signs in by one at the dashboard and at `/signin`, and writes, tries and takes back letters under
 * Settings.
 */
import t from 'tap';
import { findFreePort } from '../../src/database/embedded/port.ts';
import { buildTestApp } from '../helpers/app.ts';
import { dashboardPage } from '../helpers/dashboard/dashboard-page.ts';
import { codeIn, linkIn, testMailbox } from '../helpers/network/mailbox.ts';
import { testBrowser, whyNoBrowser } from '../helpers/programs/browser.ts';
import { until } from '../helpers/until.ts';
import { signInAdmin } from '../helpers/users.ts';

const options = { skip: whyNoBrowser() ?? false, timeout: 180_000 };
const NAME = 'owner@example.org';
const SIGN_IN = /^Sign in/;

t.test('an administrator and letters', options, async (t) => {
  const mailbox = await testMailbox(t);
  const port = await findFreePort();
  const origin = `http://localhost:${port}`;
  const settings = { MILLRACE_MODE: 'production', MILLRACE_PUBLIC_URL: origin, MILLRACE_SMTP_URL: mailbox.url };
  const { app, services } = await buildTestApp(t, settings);
  await app.listen({ host: '127.0.0.1', port });
  await signInAdmin(app, services);
  const { page, complaints, open, go, picture, violations } = await dashboardPage(t, await testBrowser(t), origin);
  const button = (name: string) => page.getByRole('button', { name, exact: true });
  const field = (name: string) => page.getByLabel(name);
  const isFine = async (what: string) => t.strictSame(await violations(), [], what);
  /** Lets the next letter be sent at once. */
  const aMinuteLater = () => services.mongo.log.collection('one_time_tokens').deleteMany({ purpose: 'held' });
  const signOut = async () => {
    await button(`Account of ${NAME}`).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await button('Send magic link').waitFor();
  };

  await t.test('signs in at the dashboard by the code, and by the link', async (t) => {
    await open('/users');
    await button('Send magic link').click();
    await page.getByText('Enter your e-mail address first').waitFor();
    await field('User name or e-mail address').fill(NAME);
    await button('Send magic link').click();
    await page.getByText('an e-mail has been sent').waitFor();
    await isFine('the code');
    await field('Code from the e-mail').fill(codeIn(await mailbox.next(NAME, SIGN_IN)));
    await button('Sign in').click();
    await button(`Account of ${NAME}`).waitFor();
    await signOut();

    await aMinuteLater();
    await field('User name or e-mail address').fill(NAME);
    await button('Send magic link').click();
    const link = linkIn(await mailbox.next(NAME, SIGN_IN));
    t.equal(link.page, `${origin}/dashboard/link`);
    await page.goto(`${link.page}#${link.token}`);
    await button('Sign in').waitFor();
    t.equal(page.url(), link.page, 'the secret leaves the address');
    await isFine('the page of the link');
    await picture('magic-link');
    await button('Sign in').click();
    await button(`Account of ${NAME}`).waitFor();
  });

  await t.test('writes a letter, sees it, tries it and takes it back', async (t) => {
    await go('/settings?tab=emails');
    await page.getByText('sign-in-method-changed').waitFor();
    await page.getByRole('cell', { name: NAME }).first().waitFor();
    await isFine('the list');
    await picture('settings-letters');
    await button('Edit magic-link in English').click();
    const drawer = page.getByRole('dialog', { name: /link and the code/ });
    const inside = (name: string) => drawer.getByRole('button', { name, exact: true });
    await drawer.getByLabel('Subject').fill('Come in, {{nmae}}');
    await inside('Save').click();
    await drawer.getByText("Did you mean 'name'?").first().waitFor();
    await drawer.getByLabel('Subject').fill('Come in, {{name}}');
    await inside('Preview').click();
    await drawer.getByText('Come in, ada').waitFor();
    await drawer.frameLocator('iframe').getByRole('link', { name: 'Sign in' }).waitFor();
    await isFine('the editor');
    await picture('settings-letter');
    await inside('Send test e-mail').click();
    await drawer.getByText('The mail server accepted the e-mail').waitFor();
    t.equal((await mailbox.next(NAME, /^Come in/)).subject, 'Come in, ada');
    await inside('Save').click();
    await inside('Reset to default').waitFor();
    const activeNow = () => services.auth.email.emailTemplates.find('magic-link', 'en').template.subject;
    t.equal(activeNow(), 'Come in, {{name}}');
    await inside('Reset to default').click();
    await page.getByRole('button', { name: 'Reset', exact: true }).click();
    await until(() => SIGN_IN.test(activeNow()), 'the letter of the program is active');
    await page.getByRole('button', { name: 'Reset', exact: true }).waitFor({ state: 'detached' });
    await page.keyboard.press('Escape');
    await drawer.waitFor({ state: 'detached' });
  });

  await t.test('signs in at /signin by the link', async (t) => {
    await aMinuteLater();
    await page.goto(`${origin}/signin`);
    await field('User name or e-mail address').fill(NAME);
    await button('Send magic link').click();
    await field('Code from the e-mail').waitFor();
    const link = linkIn(await mailbox.next(NAME, SIGN_IN));
    t.equal(link.page, `${origin}/signin`);
    // A new tab, as mail programs open one.
    const tab = await page.context().newPage();
    await tab.goto(`${link.page}#${link.token}`);
    t.equal(tab.url(), link.page);
    await tab.getByText('You requested this link by e-mail').waitFor();
    await tab.getByRole('button', { name: 'Sign in', exact: true }).click();
    await tab.getByText(`You are signed in as ${NAME}`).waitFor();
  });

  t.strictSame(complaints, []);
});
