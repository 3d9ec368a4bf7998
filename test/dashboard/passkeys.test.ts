/**
 * Passkeys in Chromium, with its virtual authenticator: added on the page of the account, used at the sign-in of the dashboard and
 * at `/signin`, as the second factor, and removed.
 */
import t from 'tap';
import { findFreePort } from '../../src/database/embedded/port.ts';
import { buildTestApp } from '../helpers/app.ts';
import { dashboardPage } from '../helpers/dashboard/dashboard-page.ts';
import { signInAt } from '../helpers/dashboard/sign-in.ts';
import { setUpFactor } from '../helpers/mfa/authenticator.ts';
import { testBrowser, whyNoBrowser } from '../helpers/programs/browser.ts';
import { ask, PASSWORD, signIn, signInAdmin } from '../helpers/users.ts';

const options = { skip: whyNoBrowser() ?? false, timeout: 120_000 };
const NAME = 'owner@example.org';

t.test('an administrator signs in by a passkey', options, async (t) => {
  const port = await findFreePort();
  const origin = `http://localhost:${port}`;
  const { app, services } = await buildTestApp(t, { MILLRACE_MODE: 'production', MILLRACE_PUBLIC_URL: origin });
  await app.listen({ host: '127.0.0.1', port });
  const owner = await signInAdmin(app, services);
  const { page, complaints, open, go, picture, violations } = await dashboardPage(t, await testBrowser(t), origin);
  const cdp = await page.context().newCDPSession(page);
  await cdp.send('WebAuthn.enable');
  await cdp.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
  const button = (name: string) => page.getByRole('button', { name, exact: true });
  const signedIn = () => button(`Account of ${NAME}`).waitFor();
  const signOut = async () => {
    await button(`Account of ${NAME}`).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await button('Sign in with a passkey').waitFor();
  };

  await t.test('which is added to the account', async (t) => {
    await open('/account');
    await signInAt(page, NAME);
    await page.getByLabel('Name of the new passkey').fill('Laptop');
    await button('Add passkey').click();
    await page.getByRole('row').filter({ hasText: 'Laptop' }).filter({ hasText: 'never' }).waitFor();
    t.strictSame(await violations(), []);
    await picture('passkeys');
    await button('Add passkey').click();
    await page.getByRole('alert').filter({ hasText: 'already has a passkey for your account' }).waitFor();
  });

  await t.test('at the dashboard, and at the page for all users', async (t) => {
    await signOut();
    await button('Sign in with a passkey').click();
    await signedIn();
    await page.goto(`${origin}/signin`);
    await button('Sign in with a passkey').click();
    await page.getByText(`You are signed in as ${NAME}.`).waitFor();
    const { passkeys } = (await ask(app, 'GET /auth/passkeys', undefined, owner)).json();
    t.match(passkeys, [{ name: 'Laptop', lastUsedAt: /^20/ }]);
  });

  await t.test('also after the password, in the place of a code', async () => {
    await setUpFactor(app, services, await signIn(app, NAME));
    await page.goto(`${origin}/signin`);
    await page.getByLabel('User name or e-mail address').fill(NAME);
    await page.getByLabel('Password').fill(PASSWORD);
    await page.keyboard.press('Enter');
    await button('Use a passkey').click();
    await page.getByText(`You are signed in as ${NAME}.`).waitFor();
    await open('/account');
    await page.getByLabel('User name or e-mail address').fill(NAME);
    await page.getByRole('textbox', { name: 'Password' }).fill(PASSWORD);
    await page.keyboard.press('Enter');
    await button('Use a passkey').click();
    await signedIn();
  });

  await t.test('until it is removed', async (t) => {
    await go('/account');
    await button('Remove the passkey Laptop').click();
    await button('Remove').click();
    // Its name is also in the title of the question, as long as that is open.
    await page.getByRole('cell', { name: 'Laptop', exact: true, includeHidden: true }).waitFor({ state: 'detached' });
    await signOut();
    await button('Sign in with a passkey').click();
    await page.getByRole('alert').filter({ hasText: 'The passkey is unknown' }).waitFor();
    t.strictSame(complaints, []);
  });
});
