/** The page `/signin` and the flows of each family of providers in a real browser, with its own rules for cookies. */
import t from 'tap';
import { PASSWORD, signIn, signUp, toAccount } from '../../helpers/accounts.ts';
import { setUpFactor, wrongCode } from '../../helpers/factors/authenticator.ts';
import { inPage, testBrowser, whyNoBrowser } from '../../helpers/programs/browser.ts';
import { startApple } from '../../helpers/providers/apple.ts';
import { startFacebook } from '../../helpers/providers/facebook.ts';
import { startLyingProvider } from '../../helpers/providers/lying-provider.ts';
import { leadingTo, signInWorld } from '../../helpers/providers/sign-in-world.ts';

t.test('the sign-in page', { skip: whyNoBrowser() ?? false }, async (t) => {
  const world = await signInWorld(t);
  const [liar, facebook, apple] = [await startLyingProvider(t), await startFacebook(t), await startApple(t)];
  facebook.users.set('mark', { id: '10221', name: 'Mark', email: 'mark@example.org' });
  const name = { firstName: 'Tim', lastName: 'Cook' };
  apple.users.set('tim', { sub: '001.a.1', email: 'tim@relay.example', isPrivateEmail: true, name });
  await world.provide(leadingTo('acme', liar));
  const { endpoints, clientId, clientSecret } = facebook;
  await world.provide({ name: 'facebook', kind: 'facebook', endpoints, clientId, clientSecret });
  const { issuer, clientId: id, teamId, keyId, privateKey } = apple;
  await world.provide({ name: 'apple', kind: 'apple', issuer, clientId: id, teamId, keyId, privateKey });
  await signUp(world.app, 'ada', { email: 'ada@example.org' });

  const browser = await testBrowser(t);
  const complaints: string[] = [];
  async function open() {
    const page = await (await browser.newContext({ viewport: { width: 360, height: 740 } })).newPage();
    page.on('console', (message) => {
      // Icons that the stand-ins do not have, and what the server refuses, which the page tells.
      if (!message.text().startsWith('Failed to load resource')) complaints.push(message.text());
    });
    page.on('pageerror', (error) => complaints.push(error.message));
    await page.goto(`${world.url}/signin`);
    return page;
  }

  await t.test('shows what there is, and signs in by a password and out again', async (t) => {
    const page = await open();
    await page.getByRole('button', { name: 'Sign in with acme' }).waitFor();
    t.strictSame(await page.locator('#providers button').allTextContents(), [
      'Sign in with acme',
      'Sign in with Apple',
      'Sign in with Facebook',
    ]);
    t.equal(await inPage<number>(page, 'function width() { return document.documentElement.scrollWidth }'), 360);
    await page.getByLabel('User name or e-mail address').fill('ada');
    await page.getByLabel('Password').fill(PASSWORD);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.getByText('You are signed in as ada.').waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('button', { name: 'Sign in with acme' }).waitFor();
  });

  await t.test('signs in by OpenID Connect', async () => {
    const page = await open();
    await page.getByRole('button', { name: 'Sign in with acme' }).click();
    await page.getByText('You are signed in as ada@provider.example.').waitFor();
    await page.context().close();
  });

  await t.test('signs in by Facebook, whose fragment does not arrive', async (t) => {
    const page = await open();
    await page.getByRole('button', { name: 'Sign in with Facebook' }).click();
    await page.locator('input[name=login]').fill('mark');
    const arrived = page.waitForRequest((request) => request.url().includes('/signin?'));
    await page.getByRole('button', { name: 'Continue' }).click();
    t.notMatch((await arrived).url(), /#_=_/);
    await page.getByText('You are signed in as mark@example.org.').waitFor();
    t.equal(await inPage<string>(page, 'function hash() { return location.hash }'), '');
    await page.context().close();
  });

  await t.test('signs in by Apple, whose page posts the answer from another site', async () => {
    const page = await open();
    await page.getByRole('button', { name: 'Sign in with Apple' }).click();
    await page.locator('input[name=login]').fill('tim');
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByText('You are signed in as tim@relay.example.').waitFor();
    await page.context().close();
  });

  await t.test('asks for the code of a second factor, after a password and after a provider', async (t) => {
    const { code, secret } = await setUpFactor(world.app, world.parts, await signIn(world.app, 'ada'));
    const page = await open();
    const [password, typed] = [page.getByLabel('Password'), page.getByLabel('Code', { exact: true })];
    const send = async (text: string) => {
      await typed.fill(text);
      await page.keyboard.press('Enter');
    };
    const byPassword = async () => {
      await page.getByLabel('User name or e-mail address').fill('ada');
      await password.fill(PASSWORD);
      await page.keyboard.press('Enter');
    };
    await byPassword();
    await send(wrongCode(secret));
    await page.getByText('The code is not right').waitFor();
    t.notOk(await password.isVisible(), 'the password is not asked for again');
    await world.parts.mongo.log.collection('single_use').deleteMany({ purpose: 'factor' });
    await send(await code());
    await page.getByText('That took too long. Sign in again.').waitFor();
    await byPassword();
    await send(await code());
    await page.getByText('You are signed in as ada.').waitFor();
    t.notOk(await typed.isVisible());

    const byProvider = await setUpFactor(world.app, world.parts, toAccount(await world.enter('acme')));
    await page.goto(`${world.url}/signin`);
    await page.getByRole('button', { name: 'Sign in with acme' }).click();
    await send(byProvider.recoveryCodes[0] ?? '');
    await page.getByText('You are signed in as ada@provider.example.').waitFor();
    await page.context().close();
  });

  await t.test('says why a sign-in was refused', async () => {
    liar.lies = { redirect: { code: 'made-up' } };
    const page = await open();
    await page.getByRole('button', { name: 'Sign in with acme' }).click();
    await page.getByText("The answer of 'acme' cannot be trusted").waitFor();
    await page.getByRole('button', { name: 'Sign in with acme' }).waitFor();
    liar.lies = {};
  });

  t.strictSame(complaints, [], 'nothing is refused by its own policy');
});
