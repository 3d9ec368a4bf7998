/** The page `/signin` and sign-in with each family of providers in a real browser, with its own rules for cookies. */
import t from 'tap';
import { setUpFactor, wrongCode } from '../../helpers/mfa/authenticator.ts';
import { inPage, testBrowser, whyNoBrowser } from '../../helpers/programs/browser.ts';
import { startApple } from '../../helpers/providers/apple.ts';
import { startFacebook } from '../../helpers/providers/facebook.ts';
import { startLyingProvider } from '../../helpers/providers/lying-provider.ts';
import { leadingTo, signInFixture } from '../../helpers/providers/sign-in-fixture.ts';
import { PASSWORD, signIn, signUp, toUser } from '../../helpers/users.ts';

t.test('the sign-in page', { skip: whyNoBrowser() ?? false }, async (t) => {
  const fixture = await signInFixture(t);
  const [liar, facebook, apple] = [await startLyingProvider(t), await startFacebook(t), await startApple(t)];
  facebook.users.set('mark', { id: '10221', name: 'Mark', email: 'mark@example.org' });
  const name = { firstName: 'Tim', lastName: 'Cook' };
  apple.users.set('tim', { sub: '001.a.1', email: 'tim@relay.example', isPrivateEmail: true, name });
  await fixture.provide(leadingTo('acme', liar));
  const { endpoints, clientId, clientSecret } = facebook;
  await fixture.provide({ name: 'facebook', kind: 'facebook', endpoints, clientId, clientSecret });
  const { issuer, clientId: id, teamId, keyId, privateKey } = apple;
  await fixture.provide({ name: 'apple', kind: 'apple', issuer, clientId: id, teamId, keyId, privateKey });
  await signUp(fixture.app, 'ada', { email: 'ada@example.org' });

  const browser = await testBrowser(t);
  const complaints: string[] = [];
  async function open() {
    const page = await (await browser.newContext({ viewport: { width: 360, height: 740 } })).newPage();
    page.on('console', (message) => {
      // Icons that the stand-ins do not have, and errors of the server, which the page shows.
      if (!message.text().startsWith('Failed to load resource')) complaints.push(message.text());
    });
    page.on('pageerror', (error) => complaints.push(error.message));
    await page.goto(`${fixture.url}/signin`);
    return page;
  }

  await t.test('the sign-in page shows the providers, and signs in with a password and out again', async (t) => {
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

  await t.test('the sign-in page signs in with OpenID Connect', async () => {
    const page = await open();
    await page.getByRole('button', { name: 'Sign in with acme' }).click();
    await page.getByText('You are signed in as ada@provider.example.').waitFor();
    await page.context().close();
  });

  await t.test('the sign-in page signs in with Facebook, whose fragment does not arrive', async (t) => {
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

  await t.test('the sign-in page signs in with Apple, whose page posts the response from another site', async () => {
    const page = await open();
    await page.getByRole('button', { name: 'Sign in with Apple' }).click();
    await page.locator('input[name=login]').fill('tim');
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByText('You are signed in as tim@relay.example.').waitFor();
    await page.context().close();
  });

  await t.test(
    'the sign-in page requires the code of a second factor, after a password and after a provider',
    async (t) => {
      const { code, secret } = await setUpFactor(fixture.app, fixture.services, await signIn(fixture.app, 'ada'));
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
      await fixture.services.mongo.log.collection('one_time_tokens').deleteMany({ purpose: 'factor' });
      await send(await code());
      await page.getByText('That took too long. Sign in again.').waitFor();
      await byPassword();
      await send(await code());
      await page.getByText('You are signed in as ada.').waitFor();
      t.notOk(await typed.isVisible());

      const byProvider = await setUpFactor(fixture.app, fixture.services, toUser(await fixture.enter('acme')));
      await page.goto(`${fixture.url}/signin`);
      await page.getByRole('button', { name: 'Sign in with acme' }).click();
      await send(byProvider.recoveryCodes[0] ?? '');
      await page.getByText('You are signed in as ada@provider.example.').waitFor();
      await page.context().close();
    },
  );

  await t.test('the sign-in page shows why a sign-in was rejected', async () => {
    liar.lies = { redirect: { code: 'made-up' } };
    const page = await open();
    await page.getByRole('button', { name: 'Sign in with acme' }).click();
    await page.getByText("The response of 'acme' is not valid").waitFor();
    await page.getByRole('button', { name: 'Sign in with acme' }).waitFor();
    liar.lies = {};
  });

  t.strictSame(complaints, [], 'nothing is refused by its own policy');
});
