/** The pages of functions in Chromium: plugins that are made, changed, tried and called there, on the real sandbox. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { buildTestApp } from '../helpers/app.ts';
import { dashboardPage } from '../helpers/dashboard/dashboard-page.ts';
import { testBrowser, whyNoBrowser } from '../helpers/programs/browser.ts';
import { ask, signInAdmin } from '../helpers/users.ts';

const options = { skip: whyNoBrowser() ?? false, timeout: 120_000 };

/** A folder of plugins with one in it. */
function folderOfPlugins(): string {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-plugins-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  mkdirSync(join(folder, 'ready'));
  const manifest = {
    name: 'ready',
    functions: [{ name: 'ping', file: 'ping.ts', http: { method: 'GET', path: '/ping' } }],
  };
  writeFileSync(join(folder, 'ready', 'plugin.json'), JSON.stringify(manifest));
  writeFileSync(join(folder, 'ready', 'ping.ts'), 'export default () => "pong";');
  return folder;
}

t.test('plugins are made, changed, tried and called, and their runs are followed', options, async (t) => {
  const { app, services } = await buildTestApp(t, {
    MILLRACE_MODE: 'production',
    MILLRACE_PLUGINS_DIR: folderOfPlugins(),
  });
  const origin = await app.listen({ host: '127.0.0.1', port: 0 });
  const owner = await signInAdmin(app, services);
  const viewer = await signInAdmin(app, services, ['viewer']);
  const browser = await testBrowser(t);
  const { page, complaints, open, enter, go, picture, violations } = await dashboardPage(t, browser, origin);
  /** Replaces the text of an editor. */
  const write = async (label: string, text: string) => {
    await page.getByRole('textbox', { name: label, exact: true }).click();
    await page.keyboard.press('Control+A');
    // Text in place of a selection would come with its colours as a style attribute, which Chromium then refuses.
    await page.keyboard.press('Delete');
    await page.keyboard.insertText(text);
  };
  const make = async (name: string, kind: RegExp) => {
    await open('/functions?dialog=new');
    await page.getByRole('textbox', { name: 'Name' }).fill(name);
    await page.getByRole('radio', { name: kind }).click();
    await page.getByRole('button', { name: 'Create plugin' }).click();
    await page.getByRole('heading', { name, level: 2 }).waitFor();
  };

  await enter('/functions', 'owner@example.org');
  await page.getByRole('link', { name: 'ready' }).waitFor();

  // An endpoint from a template, which is called at once.
  await make('hello', /^http/i);
  await page.getByRole('tab', { name: 'Dry run' }).click();
  await page.getByRole('button', { name: 'Start dry run' }).click();
  const did = page.getByRole('region', { name: 'Outcome' });
  await did.getByText('documents.create').waitFor();
  t.match(await did.textContent(), /"who": "x"/, 'what would be written');
  t.equal((await ask(app, 'GET /api/greetings', undefined, owner)).statusCode, 404, 'and was not');
  await page.getByRole('textbox', { name: 'Path' }).fill('/fn/hello/Ada');
  await page.getByRole('button', { name: 'Send', exact: true }).click();
  await page.getByRole('status').getByText('Hello, Ada!').waitFor();
  await picture('function-try');
  t.strictSame(await violations(), [], 'a try');

  // Completion, faults at their places, and a new version.
  await page.getByRole('tab', { name: 'Code' }).click();
  await write('greet.ts', 'export default async (input, ctx) => {\n  ctx.');
  await page.keyboard.press('Control+Space');
  await page.getByRole('option', { name: /documents/ }).waitFor();
  await page.keyboard.press('Escape');
  await write('greet.ts', 'export default async ({ params }) => {\n  return { text: params.who ;\n};\n');
  await page.getByRole('button', { name: 'Save version' }).click();
  await page.getByText('Save failed').waitFor();
  await page.getByRole('button', { name: 'greet.ts:2:' }).waitFor();
  await page.getByRole('tab', { name: /not saved/ }).waitFor();
  const requested = page.waitForEvent('dialog').then((dialog) => dialog.dismiss());
  await page.getByRole('link', { name: 'Webhooks' }).click();
  await requested;
  t.match(page.url(), /functions\/hello/, 'what is not saved is not left without a question');
  await write(
    'greet.ts',
    'export default async ({ params }, ctx) => {\n  ctx.log.info("Hi", params.who);\n  return { text: "Hi, " + params.who };\n};\n',
  );
  await page.getByRole('textbox', { name: 'Note' }).fill('Shorter');
  await page.getByRole('button', { name: 'Save version' }).click();
  await page.getByText('Version 2 is active').waitFor();
  await picture('function-code');
  t.strictSame(await violations(), [], 'the editor');

  await page.getByRole('tab', { name: 'plugin.json' }).click();
  await page.getByRole('textbox', { name: 'plugin.json' }).click();
  await page.keyboard.press('Control+Home');
  await page.keyboard.press('End');
  await page.keyboard.type('"fe');
  await page.getByRole('option', { name: /fetch/ }).waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Discard' }).click();

  // Live: a call from elsewhere is among the runs, with its line.
  await page.getByRole('tab', { name: 'Runs' }).click();
  await page.getByRole('log').or(page.getByText('New log lines of functions')).first().waitFor();
  t.strictSame((await ask(app, 'GET /fn/hello/Bob', undefined, owner)).json(), { text: 'Hi, Bob' });
  await page.getByText('Hi Bob').waitFor();
  const row = page.getByRole('row').filter({ hasText: 'http' }).first();
  await row.getByText('succeeded', { exact: true }).waitFor();
  await row.getByRole('button').click();
  const run = page.getByRole('dialog', { name: 'Run of hello/greet' });
  await run.getByText('Hi Bob').waitFor();
  await page.waitForURL(/run=run_/);
  await page.goBack();
  await run.waitFor({ state: 'detached' });

  // Versions: compared and put back, also seen when somebody else does it.
  await page.getByRole('tab', { name: 'Versions' }).click();
  await page.getByRole('button', { name: 'Compare 1' }).click();
  await page.getByText('+   return { text: "Hi').waitFor();
  await picture('function-versions');
  t.strictSame(await violations(), [], 'versions');
  await page.getByRole('button', { name: 'Restore 1' }).click();
  await page.getByRole('button', { name: 'Restore 2' }).waitFor();
  await ask(app, 'POST /admin/plugins/hello/versions/2/activate', undefined, owner);
  await page.getByRole('button', { name: 'Restore 1' }).waitFor();

  // Quarantine is seen when it begins, and ended here.
  await services.functions.plugins.quarantine('hello/greet', 'The function used too much memory');
  await page.getByText('The function used too much memory').waitFor();
  await page.getByRole('button', { name: 'Unquarantine' }).click();
  await page.getByText('quarantined').waitFor({ state: 'detached' });

  // A trigger, whose run follows a document that another client writes.
  await make('remember', /^trigger/);
  await page.getByRole('tab', { name: 'Runs' }).click();
  await page.getByText('No runs yet').waitFor();
  await ask(app, 'POST /api/todos', { id: 'milk', title: 'Buy milk' }, owner);
  const followed = page.getByRole('row').filter({ hasText: 'trigger of' });
  await followed.getByRole('button').click();
  await page.getByRole('dialog', { name: 'Run of remember/follow' }).getByText('A new todo: milk Buy milk').waitFor();
  await page.getByRole('button', { name: 'Rerun' }).waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('tab', { name: 'Dry run' }).click();
  await page.getByRole('combobox', { name: 'Recorded event' }).click();
  await page.getByRole('option', { name: /todos.created milk/ }).click();
  await page.getByRole('button', { name: 'Start dry run' }).click();
  await page.getByRole('region', { name: 'Outcome' }).waitFor();

  // Secrets that the manifest names are set and never shown.
  const named = await ask(
    app,
    'PUT /admin/plugins/remember',
    {
      manifest: {
        name: 'remember',
        functions: [{ name: 'follow', file: 'f.ts', on: ['todos.created'] }],
        secrets: ['MAIL_KEY'],
      },
      files: { 'f.ts': 'export default () => {};' },
    },
    owner,
  );
  t.equal(named.statusCode, 200, named.body);
  await page.getByRole('tab', { name: 'Secrets' }).click();
  await page.getByLabel('MAIL_KEY', { exact: true }).fill('a very private word');
  await page.getByRole('button', { name: 'Set' }).click();
  await page.getByText('Set. A new value').waitFor();
  t.notMatch(await page.content(), /a very private word/);

  // A run that has ended is repeated on its input.
  await ask(app, 'POST /api/todos', { id: 'bread', title: 'Buy bread' }, owner);
  await page.getByRole('tab', { name: 'Runs' }).click();
  const ended = page.getByRole('row').filter({ has: page.getByText('succeeded', { exact: true }) });
  // The newest may have ended already, or not yet.
  await ended.first().getByRole('button').click();
  const first = page.url();
  await page.getByRole('button', { name: 'Rerun' }).click();
  await page.waitForURL((now) => now.href !== first);
  await page.getByRole('dialog').getByText('succeeded', { exact: true }).waitFor();

  // A job that waits is cancelled.
  await make('later', /^job/);
  await ask(app, 'POST /fn/later', { text: 'Tea' }, owner);
  await go('/functions?tab=jobs');
  await page.getByRole('button', { name: 'Cancel' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel job' }).click();
  await page.getByText('No scheduled jobs').waitFor();
  await go('/functions');
  await page.getByRole('link', { name: 'remember' }).waitFor();
  await picture('functions');
  t.strictSame(await violations(), [], 'the list');

  // A plugin of a folder is only read, and says why.
  await page.getByRole('link', { name: 'ready' }).click();
  await page.getByText('This plugin is in a folder of the server').waitFor();
  t.equal(await page.getByRole('button', { name: 'Save version' }).count(), 0);

  // A phone in the dark, and a viewer, who looks and changes nothing.
  const phone = await dashboardPage(t, browser, origin, {
    viewport: { width: 390, height: 800 },
    colorScheme: 'dark',
  });
  await phone.enter('/functions/hello?tab=code', 'viewer@example.org');
  await phone.page.getByText('Read only', { exact: true }).waitFor();
  await phone.page.getByRole('textbox', { name: 'greet.ts' }).waitFor();
  t.ok(await phone.page.getByRole('button', { name: 'Delete' }).isDisabled());
  t.ok(await phone.page.getByRole('switch', { name: 'Enabled' }).isDisabled());
  t.equal(await phone.page.evaluate('document.documentElement.scrollWidth'), 390, 'nothing is wider than a phone');
  t.strictSame(await phone.violations(), []);
  await phone.picture('functions-phone');
  const tried = await ask(app, 'PATCH /admin/plugins/hello', { enabled: false }, viewer);
  t.equal(tried.statusCode, 403, 'the server refuses it, too');

  await go('/functions/hello?dialog=delete');
  await page.getByRole('textbox', { name: 'Type hello to confirm' }).fill('hello');
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('link', { name: 'ready' }).waitFor();
  // The list is shown as it was until it has been asked for again.
  await page.getByRole('link', { name: 'hello' }).waitFor({ state: 'detached' });
  t.strictSame([...complaints, ...phone.complaints], []);
});
