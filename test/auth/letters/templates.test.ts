/** What owners write in the place of letters: checked, previewed, in force in every process, and never a way into a header or a page. */
import t from 'tap';
import { acceptedLanguage, LANGUAGE_NAMES, LANGUAGES } from '../../../src/auth/letters/languages/languages.ts';
import { LETTER_KINDS, LETTERS } from '../../../src/auth/letters/languages/letter-kinds.ts';
import { defaultTemplate } from '../../../src/auth/letters/letter-templates.ts';
import { filled, templateFaults } from '../../../src/auth/letters/template.ts';
import { ask, signInOwner, signUp } from '../../helpers/accounts.ts';
import { buildTestApp } from '../../helpers/app.ts';
import { testMongo } from '../../helpers/mongo.ts';
import { linkIn, testMailbox } from '../../helpers/network/mailbox.ts';
import { until } from '../../helpers/until.ts';

const URL = '/admin/letters/verify-address/en';
const OWN = {
  subject: 'Hi {{name}}',
  text: 'Go to {{ link }}\n',
  html: '<style>@media print{p{color:red}}</style><p>{{name}}: <a href="{{link}}">go</a></p>',
};

t.test('every letter of the program can be used, in every language', async (t) => {
  for (const language of LANGUAGE_NAMES) {
    for (const kind of LETTER_KINDS) {
      const template = defaultTemplate(kind, language);
      t.strictSame(templateFaults(template, LETTERS[kind]), [], `${kind} ${language}`);
      const samples = Object.entries(LETTERS[kind].variables).map(([name, { sample }]) => [name, sample]);
      const { subject, text, html } = filled(template, Object.fromEntries(samples));
      t.notMatch(subject + text + html, /\{\{/, `${kind} ${language}`);
      if (LETTERS[kind].needs.length > 0) t.match(text, /https:\/\/app\.example\.org\/\w+#[\w-]{43}/);
    }
    t.strictSame(Object.keys(LANGUAGES[language].changes), Object.keys(LANGUAGES.en.changes));
  }
});

t.test('values are text, whatever they hold', async (t) => {
  const evil = '<img src=x onerror=alert(1)>"\'&\r\nBcc: eve@example.net';
  const template = {
    subject: 'Hi {{name}}',
    text: '{{name}}',
    html: '<p title="{{name}}">{{name}} {{constructor}}</p>',
  };
  const { subject, text, html } = filled(template, { name: evil });
  t.notMatch(subject, /[\r\n]/);
  t.notMatch(text, /[\r\n]/);
  t.equal(html.match(/</g)?.length, 2);
  t.notMatch(html, /["'].*["'].*["']|function/s);
});

t.test('the language that a browser likes best', async (t) => {
  const cases: [string | undefined, string | null][] = [
    [undefined, null],
    ['de', 'de'],
    ['en-US,en;q=0.9,de;q=0.8', 'en'],
    ['fr, de-CH;q=0.3, en;q=0.2', 'de'],
    ['de;q=0, en;q=0.1', 'en'],
    ['*', null],
    [';;q=,,de;q=x', null],
  ];
  for (const [header, language] of cases) t.equal(acceptedLanguage(header), language, header ?? 'none');
});

t.test('letters that owners write', async (t) => {
  const mailbox = await testMailbox(t);
  const place = await testMongo(t);
  const settings = { MILLRACE_SMTP_URL: mailbox.url, MILLRACE_PUBLIC_URL: 'https://app.example.org' };
  const { app, parts } = await buildTestApp(t, settings, place);
  const owner = await signInOwner(app, parts);
  const put = (body: object) => ask(app, `PUT ${URL}`, body, owner);

  await t.test('are refused with the place and the nearest name', async (t) => {
    const cases: [object, string, RegExp][] = [
      [{ ...OWN, text: '{{link}} {{nmae}}' }, '/text', /'nmae'. Did you mean 'name'\?/],
      [{ ...OWN, subject: '{{link' }, '/subject', /does not end/],
      [{ ...OWN, subject: 'Hi\r\nBcc: eve@example.net' }, '/subject', /one line/],
      [{ ...OWN, html: '<p>no link</p>' }, '/html', /must hold \{\{link\}\}/],
      [{ ...OWN, text: ' {{code}}' }, '/text', /'code'/],
      [{ ...OWN, text: '{{link}}'.repeat(2_501) }, '/text', /./],
      [{ subject: 'x', text: '{{link}}' }, '', /html/],
    ];
    for (const [body, pointer, detail] of cases) {
      t.match((await put(body)).json(), { status: 400, code: 'invalid-body', errors: [{ pointer, detail }] });
    }
    t.match((await ask(app, `GET ${URL}`, undefined, owner)).json(), { changedAt: null });
    t.match((await ask(app, 'GET /admin/letters/nothing/en', undefined, owner)).json(), { status: 404, hint: /test/ });
    t.equal((await ask(app, 'GET /admin/letters/test/fr', undefined, owner)).statusCode, 404);
  });

  await t.test('are shown before they are in force, and can be tried', async (t) => {
    const preview = await ask(app, `POST ${URL}/preview`, OWN, owner);
    t.match(preview.json(), {
      subject: 'Hi ada',
      text: /^Go to https:\/\/app\.example\.org\/verify#/,
      html: /ada: <a/,
    });
    const part = await ask(app, `POST ${URL}/preview`, { subject: '{{site}}!' }, owner);
    t.match(part.json(), { subject: 'app.example.org!', text: /uses this address/ });
    t.match((await ask(app, `POST ${URL}/preview`, { subject: '{{nope}}' }, owner)).json(), { code: 'invalid-body' });
    t.match((await ask(app, `POST ${URL}/test`, OWN, owner)).json(), { to: 'owner@example.org', sent: true });
    const letter = await mailbox.next('owner@example.org', /^Hi ada/);
    t.match(letter, { text: /^Go to/, html: /ada: <a/ });
    t.match((await ask(app, `POST ${URL}/test`, {}, owner)).json(), { status: 429 });
    t.match((await ask(app, `GET ${URL}`, undefined, owner)).json(), { changedAt: null, subject: /^Confirm/ });
  });

  await t.test('are in force in every process within a second, until they are taken back', async (t) => {
    const other = await buildTestApp(t, settings, place);
    const shown = await put(OWN);
    t.match(shown.json(), {
      ...OWN,
      changedAt: /.+/,
      defaults: { subject: /^Confirm/ },
      variables: [{ name: 'name' }],
    });
    const subject = () => other.parts.auth.letterTemplates.find('verify-address', 'en').template.subject;
    t.ok((await until(() => subject() === OWN.subject, 'the other process has it')) < 1_000 * 5);
    await signUp(app, 'bea', { email: 'bea@example.org' });
    const letter = await mailbox.next('bea@example.org');
    t.equal(letter.subject, 'Hi bea');
    t.equal((await ask(app, 'POST /auth/verify', { token: linkIn(letter).token })).statusCode, 204);
    t.match((await ask(app, 'GET /admin/letters', undefined, owner)).json(), [
      { kind: 'verify-address', language: 'en', subject: OWN.subject, changedAt: /.+/ },
      { kind: 'verify-address', language: 'de', changedAt: null },
    ]);
    t.equal((await ask(app, `DELETE ${URL}`, undefined, owner)).statusCode, 204);
    await until(() => /^Confirm/.test(subject()), 'the other process has the letter of the program again');
    t.match((await ask(app, `GET ${URL}`, undefined, owner)).json(), { changedAt: null });
  });

  await t.test('of another program that cannot be used, none is', async (t) => {
    await parts.mongo.data.collection<{ _id: string }>('_settings').insertOne({
      _id: 'letter x',
      letter: { kind: 'verify-address', language: 'en', subject: '{{x}}', text: '', html: '' },
    } as never);
    await parts.auth.letterTemplates.reloader.reload();
    t.match(parts.auth.letterTemplates.find('verify-address', 'en'), { updatedAt: null });
  });

  await t.test('want a fresh sign-in', async (t) => {
    await parts.mongo.log
      .collection<{ _id: string }>('refresh')
      .updateOne({ _id: owner.session }, { $set: { provedAt: new Date(0) } });
    t.match((await put(OWN)).json(), { status: 403, code: 'fresh-sign-in-required' });
  });
});
