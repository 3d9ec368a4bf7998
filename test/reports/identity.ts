/** Reports about accounts and sign-in: accounts registered in wait for somebody, refresh tokens, passkeys. */
import assert from 'node:assert/strict';
import { codeNow } from '../helpers/mfa/authenticator.ts';
import { SoftPasskey } from '../helpers/mfa/passkey-authenticator.ts';
import { codeIn, linkIn, type TestMailbox, testMailbox } from '../helpers/network/mailbox.ts';
import type { Product, Reply, Report } from './report.ts';

/** Passkeys need a host name, and a server at port 0 does not know its own. */
const ORIGIN = 'https://app.example.org';
const PASSWORD = 'four wooden ships sail';
const NEW = 'another long sentence here';

const OPEN = { MILLRACE_PUBLIC_URL: ORIGIN, MILLRACE_REGISTRATION: 'open' };

interface Account {
  readonly name: string;
  readonly email: string;
  readonly accessToken: string;
  readonly refreshToken: string;
}

/** Products with a mail server, where anybody can register. */
async function withMail(product: Product, work: (it: Product, mailbox: TestMailbox) => Promise<void>): Promise<void> {
  const ends: (() => unknown)[] = [];
  const mailbox = await testMailbox({ teardown: (end: () => unknown) => void ends.push(end) } as never);
  const settings = { ...OPEN, MILLRACE_SMTP_URL: mailbox.url };
  try {
    await work(await product.another(settings), mailbox);
  } finally {
    for (const end of ends) await end();
  }
}

/** The body of a response with this status. */
export async function expect(reply: Promise<Reply>, status: number): Promise<Reply['body']> {
  const { status: found, body } = await reply;
  assert.equal(found, status, JSON.stringify(body));
  return body;
}

const post = (it: Product, path: string, body: object, token: string | null = null) =>
  it.call('POST', path, { body, token });

async function register(it: Product, name: string, address: string | null = `${name}@example.org`): Promise<Account> {
  const email = address === null ? {} : { email: address };
  const { accessToken, refreshToken } = await expect(
    post(it, '/auth/register', { username: name, password: PASSWORD, ...email }),
    201,
  );
  return { name, email: address ?? '', accessToken, refreshToken };
}

/** Adds an authenticator app and a passkey. */
async function addFactors(it: Product, { accessToken }: Account): Promise<void> {
  const { secret } = await expect(post(it, '/auth/mfa/totp', {}, accessToken), 201);
  await expect(post(it, '/auth/mfa/totp/confirm', { code: codeNow(secret) }, accessToken), 200);
  await expect(addPasskey(it, accessToken), 201);
}

async function addPasskey(it: Product, token: string, begun?: object): Promise<Reply> {
  const options = begun ?? (await expect(it.call('POST', '/auth/passkeys/registration-options', { token }), 200));
  const credential = new SoftPasskey(ORIGIN).create(options as never);
  return post(it, '/auth/passkeys', { credential }, token);
}

async function requireGone(it: Product, { accessToken, refreshToken, name }: Account): Promise<void> {
  await expect(it.call('GET', '/auth/me', { token: accessToken }), 401);
  await expect(post(it, '/auth/refresh', { refreshToken }), 401);
  await expect(post(it, '/auth/login', { username: name, password: PASSWORD }), 401);
}

async function signInByCode(it: Product, mailbox: TestMailbox, email: string): Promise<Account> {
  await expect(post(it, '/auth/magic-link', { email }), 202);
  const code = codeIn(await mailbox.next(email, /^Sign in/));
  return expect(post(it, '/auth/magic-link/verify', { email, code }), 200);
}

async function registeredInWait(product: Product): Promise<void> {
  await withMail(product, async (it, mailbox) => {
    const confirmed = await register(it, 'mallory');
    await addFactors(it, confirmed);
    const { token } = linkIn(await mailbox.next(confirmed.email));
    await expect(post(it, '/auth/verify', { token }), 204);
    await requireGone(it, confirmed);
    const { accessToken } = await signInByCode(it, mailbox, confirmed.email);
    const { passkeys } = await expect(it.call('GET', '/auth/passkeys', { token: accessToken }), 200);
    assert.deepEqual(passkeys, []);
    // Without an address at first, and with the address of the victim by a change.
    const changed = await register(it, 'trudy', null);
    const change = { email: 'victim@example.org', password: PASSWORD };
    await expect(it.call('PATCH', '/auth/me', { body: change, token: changed.accessToken }), 200);
    const link = linkIn(await mailbox.next('victim@example.org'));
    await expect(post(it, '/auth/verify', { token: link.token, newPassword: NEW }), 204);
    await requireGone(it, changed);
    await expect(post(it, '/auth/login', { username: 'victim@example.org', password: NEW }), 200);
    // The person who registered keeps everything.
    for (const [name, body, isSignedIn] of [
      ['alice', {}, true],
      ['bob', { password: PASSWORD }, false],
    ] as const) {
      const own = await register(it, name);
      await addFactors(it, own);
      const { token: mine } = linkIn(await mailbox.next(own.email));
      await expect(post(it, '/auth/verify', { token: mine, ...body }, isSignedIn ? own.accessToken : null), 204);
      const me = await expect(it.call('GET', '/auth/me', { token: own.accessToken }), 200);
      assert.deepEqual([me.emailVerified, me.secondFactor], [true, true]);
    }
  });
}

async function blockedAddress(product: Product): Promise<void> {
  await withMail(product, async (it, mailbox) => {
    const account = await register(it, 'mallory');
    await mailbox.next(account.email);
    await addFactors(it, account);
    await expect(post(it, '/auth/reset', { email: account.email }), 202);
    const { token } = linkIn(await mailbox.next(account.email, /new password/));
    await expect(post(it, '/auth/reset/confirm', { token, password: NEW }), 204);
    const { user } = await expect(post(it, '/auth/login', { username: account.email, password: NEW }), 200);
    assert.equal(user.secondFactor, false);
    await requireGone(it, account);
    const other = await register(it, 'trudy');
    await mailbox.next(other.email);
    await addFactors(it, other);
    await signInByCode(it, mailbox, other.email);
    await requireGone(it, other);
  });
}

async function quickRenewals(product: Product): Promise<void> {
  const it = await product.another(OPEN);
  const { refreshToken } = await register(it, 'hedy');
  const tokens = [refreshToken];
  for (let n = 0; n < 12; n++) {
    const renewed = await expect(post(it, '/auth/refresh', { refreshToken: tokens.at(-1) }), 200);
    tokens.push(renewed.refreshToken);
  }
  for (const at of [0, 3, 11]) {
    const again = await expect(post(it, '/auth/refresh', { refreshToken: tokens[at] }), 200);
    assert.equal(again.refreshToken, tokens[at + 1]);
  }
  await expect(post(it, '/auth/refresh', { refreshToken: tokens.at(-1) }), 200);
}

async function parallelPasskeys(product: Product): Promise<void> {
  const it = await product.another(OPEN);
  const { accessToken } = await register(it, 'hedy');
  for (let n = 0; n < 18; n++) await expect(addPasskey(it, accessToken), 201);
  const begin = () => expect(it.call('POST', '/auth/passkeys/registration-options', { token: accessToken }), 200);
  const begun = await Promise.all(Array.from({ length: 8 }, begin));
  const added = await Promise.all(begun.map((options) => addPasskey(it, accessToken, options)));
  assert.equal(added.filter(({ status }) => status === 201).length, 2);
  const { passkeys } = await expect(it.call('GET', '/auth/passkeys', { token: accessToken }), 200);
  assert.equal(passkeys.length, 20);
}

export const reports: readonly Report[] = [
  { point: 'G1', title: 'An account registered in wait for somebody keeps no way to sign in', run: registeredInWait },
  { point: 'G2', title: 'A reset by a proven address removes earlier factors', run: blockedAddress },
  { point: 'G3', title: 'A refresh token gets the same successor for ten seconds', run: quickRenewals },
  { point: 'G4', title: 'Parallel registrations do not pass the limit of passkeys', run: parallelPasskeys },
];
