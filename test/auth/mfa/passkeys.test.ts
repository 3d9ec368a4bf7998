/**
 * Passkeys over HTTP: added, renamed and removed, as the only step of a sign-in and as the second one; and each
 * response that is rejected.
 */
import { generateKeyPairSync } from 'node:crypto';
import t from 'tap';
import { buildTestApp } from '../../helpers/app.ts';
import { setUpFactor } from '../../helpers/mfa/authenticator.ts';
import { type Lies, SoftPasskey } from '../../helpers/mfa/passkey-authenticator.ts';
import { testMongo } from '../../helpers/mongo.ts';
import { type Account, ask, PASSWORD, signIn, signInAdmin, signUp, toUser } from '../../helpers/users.ts';

const ORIGIN = 'https://app.example.org';
const FAILED = { status: 401, code: 'invalid-credentials' };
const REFUSED = { status: 409, code: 'invalid-passkey' };

t.test('passkeys', async (t) => {
  const settings = { MILLRACE_PUBLIC_URL: ORIGIN };
  const { app, services } = await buildTestApp(t, settings);
  const begin = async (as: Account) =>
    (await ask(app, 'POST /auth/passkeys/registration-options', undefined, as)).json();
  const add = (credential: object, as: Account, name?: string) =>
    ask(app, 'POST /auth/passkeys', { credential, ...(name === undefined ? {} : { name }) }, as);
  const challenge = async (ticket?: string) =>
    (await ask(app, 'POST /auth/passkeys/authentication-options', ticket === undefined ? {} : { ticket })).json();
  const enter = (credential: object) => ask(app, 'POST /auth/passkeys/login', { credential });
  const goOn = (ticket: string, credential: object) => ask(app, 'POST /auth/mfa/login', { ticket, credential });
  const list = async (as: Account) => (await ask(app, 'GET /auth/passkeys', undefined, as)).json().passkeys;
  /** Adds a passkey to a user. */
  const give = async (as: Account, name?: string) => {
    const passkey = new SoftPasskey(ORIGIN);
    const added = await add(passkey.create(await begin(as)), as, name);
    t.equal(added.statusCode, 201, added.body);
    return passkey;
  };

  await t.test('passkeys are added, listed, renamed and removed', async (t) => {
    const ada = await signUp(app, 'ada');
    const eve = await signUp(app, 'eve');
    const options = await begin(ada);
    t.match(options, {
      rp: { id: 'app.example.org' },
      user: { name: 'ada' },
      attestation: 'none',
      authenticatorSelection: { residentKey: 'required', userVerification: 'preferred' },
    });
    const first = new SoftPasskey(ORIGIN);
    const added = await add(first.create(options), ada, 'Phone');
    t.match(added.json(), { id: first.id, name: 'Phone', lastUsedAt: null, synced: false });
    const second = await give(ada);
    t.match((await begin(ada)).excludeCredentials, [{ id: first.id }, { id: second.id }]);
    t.match(await list(ada), [{ id: first.id }, { id: second.id, name: 'Passkey' }]);
    t.same(await list(eve), []);
    const rename = (as: Account, name: string) => ask(app, `PATCH /auth/passkeys/${first.id}`, { name }, as);
    t.match((await rename(ada, 'Old phone')).json(), { id: first.id, name: 'Old phone' });
    t.equal((await rename(ada, '')).statusCode, 400);
    t.equal((await rename(eve, 'Mine')).statusCode, 404);
    t.equal((await ask(app, `DELETE /auth/passkeys/${first.id}`, undefined, eve)).statusCode, 404);
    t.equal((await enter(first.get(await challenge()))).statusCode, 200);
    t.equal((await ask(app, `DELETE /auth/passkeys/${first.id}`, undefined, ada)).statusCode, 204);
    t.equal((await ask(app, `DELETE /auth/passkeys/${first.id}`, undefined, ada)).statusCode, 404);
    t.match((await enter(first.get(await challenge()))).json(), FAILED, 'a removed one is refused');
    t.equal((await enter(second.get(await challenge()))).statusCode, 200, 'the other one is not');
    const reported = services.mongo.data.collection('_activity');
    t.equal(await reported.countDocuments({ type: 'system.mfa.added', 'details.kind': 'passkey' }), 2);
    t.equal(await reported.countDocuments({ type: 'system.mfa.removed', 'details.kind': 'passkey' }), 1);
  });

  await t.test('a user has at most 20 passkeys, also when several are added at once', async (t) => {
    const ada = await signUp(app, 'several');
    const rows = services.mongo.log.collection<{ _id: string; user: string }>('passkeys');
    const row = {
      user: ada.id,
      name: 'x',
      publicKey: '',
      counter: 0,
      isSynced: false,
      createdAt: new Date(),
      lastUsedAt: null,
    };
    // Some of an earlier version, and some of this one.
    await rows.insertMany(Array.from({ length: 9 }, (_, n) => ({ ...row, _id: `early-${n}` })));
    await rows.insertMany(Array.from({ length: 9 }, (_, n) => ({ ...row, _id: `late-${n}`, slot: n })));
    const begun = await Promise.all(Array.from({ length: 8 }, () => begin(ada)));
    const added = await Promise.all(begun.map((options) => add(new SoftPasskey(ORIGIN).create(options), ada)));
    const codes = added.map(({ statusCode }) => statusCode);
    t.equal(codes.filter((code) => code === 201).length, 2);
    const refused = added.filter(({ statusCode }) => statusCode !== 201).map((response) => response.json().code);
    t.strictSame(new Set(refused), new Set(['too-many-passkeys']));
    t.equal(await rows.countDocuments({ user: ada.id }), 20);
    t.match(await begin(ada), { code: 'too-many-passkeys' });
    t.equal((await ask(app, 'DELETE /auth/passkeys/late-3', undefined, ada)).statusCode, 204);
    t.equal((await add(new SoftPasskey(ORIGIN).create(await begin(ada)), ada)).statusCode, 201, 'a free place is used');
  });

  await t.test('an invalid registration of a passkey is rejected', async (t) => {
    const [ada, eve] = [await signUp(app, 'new'), await signUp(app, 'newer')];
    const passkey = new SoftPasskey(ORIGIN);
    const refused = async (what: string, lies: Lies) =>
      t.match((await add(passkey.create(await begin(ada), lies), ada)).json(), REFUSED, what);
    await refused('of another origin', { origin: 'https://app.example.com' });
    await refused('for another site', { rpId: 'example.org' });
    await refused('to another challenge', { challenge: 'A'.repeat(43) });
    await refused('that is a proof', { type: 'webauthn.get' });
    const options = await begin(ada);
    t.match((await add(passkey.create(options), eve)).json(), REFUSED, 'of another account');
    const again = await begin(ada);
    const there = await signIn(app, 'new');
    t.match((await add(passkey.create(again), there)).json(), REFUSED, 'of another session');
    const once = await begin(ada);
    t.equal((await add(passkey.create(once), ada)).statusCode, 201);
    t.match((await add(new SoftPasskey(ORIGIN).create(once), ada)).json(), REFUSED, 'to a challenge that was used');
    t.match((await add(passkey.create(await begin(ada)), ada)).json(), { code: 'passkey-exists' });
    const body = passkey.create(await begin(ada));
    for (const attestationObject of ['AAAA', 'oA', '']) {
      const response = await add({ ...body, response: { ...body.response, attestationObject } }, ada);
      t.ok([400, 409].includes(response.statusCode), 'that is nonsense');
    }
    t.equal((await ask(app, 'POST /auth/passkeys/registration-options')).statusCode, 401, 'of nobody');
  });

  await t.test('passkeys sign in without a name, once for each challenge', async (t) => {
    const ada = await signUp(app, 'one');
    const passkey = await give(ada);
    const options = await challenge();
    t.strictSame(options.allowCredentials, []);
    const proof = passkey.get(options);
    const entered = toUser(await enter(proof));
    t.equal(entered.id, ada.id);
    t.match((await ask(app, 'GET /auth/me', undefined, entered)).json(), { username: 'one' });
    t.match(await list(ada), [{ lastUsedAt: /^20/ }]);
    t.match((await enter(proof)).json(), FAILED, 'the same proof');
    t.match((await enter(passkey.get(options))).json(), FAILED, 'the same challenge');
    const late = await challenge();
    await services.mongo.log
      .collection('one_time_tokens')
      .updateMany({ purpose: 'passkey' }, { $set: { expiresAt: new Date(0) } });
    t.match((await enter(passkey.get(late))).json(), FAILED, 'a challenge that has expired');
    const ofNew = { challenge: (await begin(ada)).challenge, rpId: options.rpId };
    t.match((await enter(passkey.get(ofNew))).json(), FAILED, 'a challenge for a new passkey');
  });

  await t.test('an invalid passkey response is rejected', async (t) => {
    const ada = await signUp(app, 'lied');
    const passkey = await give(ada);
    const other = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
    const refused = async (what: string, lies: Lies) => {
      t.match((await enter(passkey.get(await challenge(), lies))).json(), FAILED, what);
      // Wrong ones cause delays, as wrong passwords do; that is not tested here.
      await services.mongo.log.collection('login_throttle').deleteMany({});
    };
    await refused('of another origin', { origin: 'https://app.example.com' });
    await refused('of a page below the site', { origin: 'https://evil.app.example.org' });
    await refused('for another site', { rpId: 'example.com' });
    await refused('to another challenge', { challenge: 'A'.repeat(43) });
    await refused('that is a new one', { type: 'webauthn.create' });
    await refused('signed by another key', { key: other });
    await refused('for another account', { userHandle: Buffer.from('f'.repeat(24)).toString('base64url') });
    t.equal((await enter(passkey.get(await challenge()))).statusCode, 200, 'the right one is not');
    await refused('by a copy, whose counter does not go forward', { counter: 1 });
    const requested = await Promise.all(Array.from({ length: 8 }, () => challenge()));
    const copies = await Promise.all(requested.map((options) => enter(passkey.get(options, { counter: 900 }))));
    t.equal(copies.filter(({ statusCode }) => statusCode === 200).length, 1, 'of copies at once one enters');
    await services.mongo.log.collection('login_throttle').deleteMany({});
    t.match((await enter(new SoftPasskey(ORIGIN).get(await challenge()))).json(), FAILED, 'of no passkey');
    await services.auth.users.change(ada.id, { disabled: true }, { by: null, request: null });
    const late = passkey.get(await challenge(), { counter: 1_000 });
    t.match((await enter(late)).json(), FAILED, 'of a disabled account');
  });

  await t.test('a passkey does not sign in when it is removed, or the user disabled, meanwhile', async (t) => {
    const { passkeys, users } = services.auth;
    const [by, prove] = [{ by: null, request: null }, passkeys.verify.bind(passkeys)];
    t.teardown(() => Reflect.deleteProperty(passkeys, 'verify'));
    for (const [n, meanwhile] of [
      (user: string, id: string) => passkeys.remove(user, id, by),
      (user: string) => users.change(user, { disabled: true }, by),
    ].entries()) {
      const passkey = await give(await signUp(app, `meanwhile${n}`));
      passkeys.verify = async (...requested) => {
        const verified = await prove(...requested);
        await meanwhile(verified.user._id, verified.id);
        return verified;
      };
      t.match((await enter(passkey.get(await challenge()))).json(), FAILED);
    }
  });

  await t.test('guessing passkeys causes delays', async (t) => {
    const guess = new SoftPasskey(ORIGIN);
    const codes: string[] = [];
    for (let n = 0; n < 8; n++) codes.push((await enter(guess.get(await challenge(), { counter: n }))).json().code);
    t.equal(codes[0], 'invalid-credentials');
    t.equal(codes.at(-1), 'rate-limited');
  });

  await t.test('a passkey is a second factor, for the ticket of its challenge', async (t) => {
    const ada = await signUp(app, 'both');
    const passkey = await give(ada);
    const [eve, factor] = [await signUp(app, 'strange'), await setUpFactor(app, services, ada)];
    const anonymous = await give(eve);
    const ticketOf = async () =>
      (await ask(app, 'POST /auth/login', { username: 'both', password: PASSWORD })).json().ticket;
    const ticket = await ticketOf();
    t.match((await goOn(ticket, passkey.get(await challenge()))).json(), FAILED, 'a challenge for no ticket');
    t.match((await goOn(ticket, passkey.get(await challenge(await ticketOf())))).json(), FAILED, 'for another one');
    t.match(
      (await goOn(ticket, anonymous.get(await challenge(ticket)))).json(),
      FAILED,
      'a passkey of another account',
    );
    t.match((await enter(passkey.get(await challenge(ticket)))).json(), FAILED, 'a ticket is no sign-in');
    const proof = passkey.get(await challenge(ticket));
    t.equal(toUser(await goOn(ticket, proof)).id, ada.id);
    t.equal((await goOn(ticket, passkey.get(await challenge(ticket)))).json().code, 'invalid-token', 'once');
    t.equal((await enter(passkey.get(await challenge()))).statusCode, 200, 'with a PIN it stands for both factors');
    const requested = await enter(passkey.get(await challenge(), { isVerified: false }));
    t.match(requested.json(), { status: 401, code: 'mfa-required' }, 'without one it is the first factor only');
    const first: string = requested.json().ticket;
    t.equal((await challenge(first)).userVerification, 'required');
    const same = await goOn(first, passkey.get(await challenge(first), { isVerified: false }));
    t.match(same.json(), FAILED, 'and the same device is not the second one, too');
    const code = await factor.code();
    t.equal((await ask(app, 'POST /auth/mfa/login', { ticket: first, code })).statusCode, 200);
  });

  await t.test('passkeys of administrators require a PIN or a fingerprint', async (t) => {
    const owner = await signInAdmin(app, services);
    const options = await begin(owner);
    t.equal(options.authenticatorSelection.userVerification, 'required');
    const passkey = new SoftPasskey(ORIGIN);
    t.match((await add(passkey.create(options, { isVerified: false }), owner)).json(), REFUSED);
    t.equal((await add(passkey.create(await begin(owner)), owner)).statusCode, 201);
    t.match((await enter(passkey.get(await challenge(), { isVerified: false }))).json(), FAILED);
    t.equal((await enter(passkey.get(await challenge()))).statusCode, 200);

    const lost = await signUp(app, 'lost');
    await give(lost, 'Lost');
    const path = `/admin/users/${lost.id}/passkeys` as const;
    t.match((await ask(app, `GET ${path}`, undefined, owner)).json(), { passkeys: [{ name: 'Lost' }] });
    t.equal((await ask(app, `DELETE ${path}`, undefined, owner)).statusCode, 204);
    t.same(await list(lost), []);
    await give(lost);
    await services.auth.users.remove(lost.id, { by: null, request: null });
    const rows = services.mongo.log.collection<{ user: string }>('passkeys');
    t.equal(await rows.countDocuments({ user: lost.id }), 0, 'nothing is left of an account');
  });

  await t.test('a twenty-first passkey is rejected', async (t) => {
    const many = await signUp(app, 'many');
    for (let n = 0; n < 20; n++) await give(many);
    t.match(await begin(many), { status: 409, code: 'too-many-passkeys' });
  });
});

t.test('passkeys are not available under an IP address, except that of this machine', async (t) => {
  const testDatabase = await testMongo(t);
  const { app } = await buildTestApp(t, { MILLRACE_PUBLIC_URL: 'https://203.0.113.7' }, testDatabase);
  t.match((await ask(app, 'POST /auth/passkeys/authentication-options', {})).json(), {
    status: 409,
    code: 'passkeys-unavailable',
  });
  const local = await buildTestApp(t, { PORT: '3000' }, testDatabase);
  t.match((await ask(local.app, 'POST /auth/passkeys/authentication-options', {})).json(), { rpId: 'localhost' });
});
