/**
 * Sign-in to a native app by the link of an e-mail: the link leads there through a page of this server, and works only
 * with the verifier.
 */
import t from 'tap';
import { buildTestApp } from '../../helpers/app.ts';
import { linkIn, testMailbox } from '../../helpers/network/mailbox.ts';
import { newClient } from '../../helpers/providers/sign-in-fixture.ts';
import { ask, signUp } from '../../helpers/users.ts';

const BASE = 'https://app.example.org';
const PAGE = 'https://todo.example.org/entered';
const NATIVE = 'com.example.todo:/entered';

t.test(
  'a native app gets the magic link through a page of this server, because mail programs remove its scheme',
  async (t) => {
    const mailbox = await testMailbox(t);
    const settings = { MILLRACE_SMTP_URL: mailbox.url, MILLRACE_PUBLIC_URL: BASE };
    const { app } = await buildTestApp(t, { ...settings, MILLRACE_REDIRECT_URLS: `${PAGE},${NATIVE}` });
    const email = 'nora@example.org';
    await signUp(app, 'nora', { email });
    await mailbox.next(email);
    const { verifier, challenge } = newClient();
    const withoutPkce = await ask(app, 'POST /auth/magic-link', { email, redirect: NATIVE });
    t.match(withoutPkce.json(), { errors: [{ pointer: '/codeChallenge' }] });
    const request = { email, redirect: NATIVE, codeChallenge: challenge };
    t.equal((await ask(app, 'POST /auth/magic-link', request)).statusCode, 202);
    const mail = await mailbox.next(email, /^Sign in/);
    const { page, token } = linkIn(mail);
    t.equal(page, `${BASE}/open-app?to=${encodeURIComponent(NATIVE)}`);
    t.match(mail.html?.replaceAll('&#61;', '='), `href="${page}#${token}"`);
    t.match((await app.inject(page.slice(BASE.length))).body, `href="${NATIVE}"`);
    for (const to of [PAGE, 'com.example.evil:/entered', 'javascript:alert(1)', `${NATIVE}?x=1`, '']) {
      const refused = await app.inject(`/open-app?to=${encodeURIComponent(to)}`);
      t.match(refused.json(), { status: 400, code: 'redirect-not-allowed' }, to);
    }
    t.match((await ask(app, 'POST /auth/magic-link/verify', { token })).json(), { code: 'link-expired' });
    const entered = await ask(app, 'POST /auth/magic-link/verify', { token, codeVerifier: verifier });
    t.match(entered.json(), { user: { username: 'nora' } });
  },
);
