/**
 * The e-mail templates of administrators: checked, previewed, active in every process, and never a way into a header or
 * a page.
 */
import t from 'tap';
import { defaultEmailTemplate } from '../../src/email/email-templates.ts';
import { EMAIL_DEFINITIONS, EMAIL_KINDS } from '../../src/email/locales/email-types.ts';
import { EMAIL_TEXTS, LANGUAGE_CODES, negotiateLanguage } from '../../src/email/locales/locales.ts';
import { renderTemplate, templateIssues } from '../../src/email/template.ts';
import { buildTestApp } from '../helpers/app.ts';
import { testMongo } from '../helpers/mongo.ts';
import { linkIn, testMailbox } from '../helpers/network/mailbox.ts';
import { until } from '../helpers/until.ts';
import { ask, signInAdmin, signUp } from '../helpers/users.ts';

const URL = '/admin/email-templates/verify-email/en';
const OWN = {
  subject: 'Hi {{name}}',
  text: 'Go to {{ link }}\n',
  html: '<style>@media print{p{color:red}}</style><p>{{name}}: <a href="{{link}}">go</a></p>',
};

t.test('every default e-mail template can be used, in every language', async (t) => {
  for (const language of LANGUAGE_CODES) {
    for (const kind of EMAIL_KINDS) {
      const template = defaultEmailTemplate(kind, language);
      t.strictSame(templateIssues(template, EMAIL_DEFINITIONS[kind]), [], `${kind} ${language}`);
      const samples = Object.entries(EMAIL_DEFINITIONS[kind].variables).map(([name, { example }]) => [name, example]);
      const { subject, text, html } = renderTemplate(template, Object.fromEntries(samples));
      t.notMatch(subject + text + html, /\{\{/, `${kind} ${language}`);
      if (EMAIL_DEFINITIONS[kind].requiredVariables.length > 0)
        t.match(text, /https:\/\/app\.example\.org\/\w+#[\w-]{43}/);
    }
    t.strictSame(Object.keys(EMAIL_TEXTS[language].changes), Object.keys(EMAIL_TEXTS.en.changes));
  }
});

t.test('values are text, whatever they contain', async (t) => {
  const evil = '<img src=x onerror=alert(1)>"\'&\r\nBcc: eve@example.net';
  const template = {
    subject: 'Hi {{name}}',
    text: '{{name}}',
    html: '<p title="{{name}}">{{name}} {{constructor}}</p>',
  };
  const { subject, text, html } = renderTemplate(template, { name: evil });
  t.notMatch(subject, /[\r\n]/);
  t.notMatch(text, /[\r\n]/);
  t.equal(html.match(/</g)?.length, 2);
  t.notMatch(html, /["'].*["'].*["']|function/s);
});

t.test('the preferred language of a browser', async (t) => {
  const cases: [string | undefined, string | null][] = [
    [undefined, null],
    ['de', 'de'],
    ['en-US,en;q=0.9,de;q=0.8', 'en'],
    ['fr, de-CH;q=0.3, en;q=0.2', 'de'],
    ['de;q=0, en;q=0.1', 'en'],
    ['*', null],
    [';;q=,,de;q=x', null],
  ];
  for (const [header, language] of cases) t.equal(negotiateLanguage(header), language, header ?? 'none');
});

t.test('e-mail templates of administrators', async (t) => {
  const mailbox = await testMailbox(t);
  const testDatabase = await testMongo(t);
  const settings = { MILLRACE_SMTP_URL: mailbox.url, MILLRACE_PUBLIC_URL: 'https://app.example.org' };
  const { app, services } = await buildTestApp(t, settings, testDatabase);
  const owner = await signInAdmin(app, services);
  const put = (body: object) => ask(app, `PUT ${URL}`, body, owner);

  await t.test('an invalid e-mail template is rejected with the JSON Pointer and the nearest name', async (t) => {
    const cases: [object, string, RegExp][] = [
      [{ ...OWN, text: '{{link}} {{nmae}}' }, '/text', /'nmae'. Did you mean 'name'\?/],
      [{ ...OWN, subject: '{{link' }, '/subject', /is not closed/],
      [{ ...OWN, subject: 'Hi\r\nBcc: eve@example.net' }, '/subject', /one line/],
      [{ ...OWN, html: '<p>no link</p>' }, '/html', /must contain \{\{link\}\}/],
      [{ ...OWN, text: ' {{code}}' }, '/text', /'code'/],
      [{ ...OWN, text: '{{link}}'.repeat(2_501) }, '/text', /./],
      [{ subject: 'x', text: '{{link}}' }, '', /html/],
    ];
    for (const [body, pointer, detail] of cases) {
      t.match((await put(body)).json(), { status: 400, code: 'invalid-body', errors: [{ pointer, detail }] });
    }
    t.match((await ask(app, `GET ${URL}`, undefined, owner)).json(), { updatedAt: null });
    t.match((await ask(app, 'GET /admin/email-templates/nothing/en', undefined, owner)).json(), {
      status: 404,
      hint: /test/,
    });
    t.equal((await ask(app, 'GET /admin/email-templates/test/fr', undefined, owner)).statusCode, 404);
  });

  await t.test('an e-mail template can be previewed and sent as a test before it is active', async (t) => {
    const preview = await ask(app, `POST ${URL}/preview`, OWN, owner);
    t.match(preview.json(), {
      subject: 'Hi ada',
      text: /^Go to https:\/\/app\.example\.org\/verify#/,
      html: /ada: <a/,
    });
    const part = await ask(app, `POST ${URL}/preview`, { subject: '{{site}}!' }, owner);
    t.match(part.json(), { subject: 'app.example.org!', text: /registered this e-mail address/ });
    t.match((await ask(app, `POST ${URL}/preview`, { subject: '{{nope}}' }, owner)).json(), { code: 'invalid-body' });
    t.match((await ask(app, `POST ${URL}/test`, OWN, owner)).json(), { to: 'owner@example.org', sent: true });
    const email = await mailbox.next('owner@example.org', /^Hi ada/);
    t.match(email, { text: /^Go to/, html: /ada: <a/ });
    t.match((await ask(app, `POST ${URL}/test`, {}, owner)).json(), { status: 429 });
    t.match((await ask(app, `GET ${URL}`, undefined, owner)).json(), { updatedAt: null, subject: /^Verify/ });
  });

  await t.test('an e-mail template is active in every process within a second, until it is reset', async (t) => {
    const other = await buildTestApp(t, settings, testDatabase);
    const shown = await put(OWN);
    t.match(shown.json(), {
      ...OWN,
      updatedAt: /.+/,
      defaults: { subject: /^Verify/ },
      variables: [{ name: 'name' }],
    });
    const subject = () => other.services.auth.email.emailTemplates.find('verify-email', 'en').template.subject;
    t.ok((await until(() => subject() === OWN.subject, 'the other process has it')) < 1_000 * 5);
    await signUp(app, 'bea', { email: 'bea@example.org' });
    const email = await mailbox.next('bea@example.org');
    t.equal(email.subject, 'Hi bea');
    t.equal((await ask(app, 'POST /auth/verify', { token: linkIn(email).token })).statusCode, 204);
    t.match((await ask(app, 'GET /admin/email-templates', undefined, owner)).json(), [
      { kind: 'verify-email', locale: 'en', subject: OWN.subject, updatedAt: /.+/ },
      { kind: 'verify-email', locale: 'de', updatedAt: null },
    ]);
    t.equal((await ask(app, `DELETE ${URL}`, undefined, owner)).statusCode, 204);
    await until(() => /^Verify/.test(subject()), 'the other process has the letter of the program again');
    t.match((await ask(app, `GET ${URL}`, undefined, owner)).json(), { updatedAt: null });
  });

  await t.test('an unusable e-mail template of another program is ignored', async (t) => {
    await services.mongo.data.collection<{ _id: string }>('_settings').insertOne({
      _id: 'email-template x',
      emailTemplate: { kind: 'verify-email', locale: 'en', subject: '{{x}}', text: '', html: '' },
    } as never);
    await services.auth.email.emailTemplates.reloader.reload();
    t.match(services.auth.email.emailTemplates.find('verify-email', 'en'), { updatedAt: null });
  });

  await t.test('changing an e-mail template requires reauthentication', async (t) => {
    await services.mongo.log
      .collection<{ _id: string }>('refresh_tokens')
      .updateOne({ _id: owner.session }, { $set: { verifiedAt: new Date(0) } });
    t.match((await put(OWN)).json(), { status: 403, code: 'reauthentication-required' });
  });
});
