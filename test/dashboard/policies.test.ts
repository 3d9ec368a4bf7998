/** The page Policies in Chromium: a policy made by keyboard alone, its effect foreseen, explained, tried and taken back. */
import type { Locator, Page } from 'playwright-core';
import t from 'tap';
import { buildTestApp } from '../helpers/app.ts';
import { dashboardPage } from '../helpers/dashboard/dashboard-page.ts';
import { testBrowser, whyNoBrowser } from '../helpers/programs/browser.ts';
import { until } from '../helpers/until.ts';
import { ask, PASSWORD, signIn, signInAdmin } from '../helpers/users.ts';

const options = { skip: whyNoBrowser() ?? false, timeout: 120_000 };
/** Must be shown as text. */
const MARKUP = '<img src=x onerror=alert(1)>';
const POLICY = 'own-posts';

async function enter(page: Page, name: string): Promise<void> {
  await page.getByLabel('User name or e-mail address').fill(name);
  await page.getByRole('textbox', { name: 'Password' }).fill(PASSWORD);
  await page.keyboard.press('Enter');
}

/** Presses the key until the element has the focus. */
async function reach(page: Page, element: Locator, key: 'Tab' | 'Shift+Tab' = 'Tab'): Promise<void> {
  await element.waitFor();
  for (let pressed = 0; pressed < 80; pressed++) {
    if ((await element.and(page.locator(':focus')).count()) === 1) return;
    await page.keyboard.press(key);
  }
  throw new Error(`No focus on ${element}`);
}

t.test('policies in the dashboard', options, async (t) => {
  const { app, services } = await buildTestApp(t);
  const origin = await app.listen({ host: '127.0.0.1', port: 0 });
  const owner = await signInAdmin(app, services);
  await signInAdmin(app, services, ['viewer']);
  for (const authorId of ['role:author', 'somebody else']) {
    await ask(app, 'POST /api/posts', { authorId, title: MARKUP }, owner);
  }
  const browser = await testBrowser(t);
  const { page, complaints, open, picture, violations } = await dashboardPage(t, browser, origin);
  page.setDefaultTimeout(10_000);

  await t.test('development mode explains its open policy, and asks for an account without it', async (t) => {
    await open('/policies');
    await page.getByText('All clients have full access until').waitFor();
    t.strictSame(await violations(), []);
    await page.getByRole('button', { name: 'Delete policy …' }).click();
    const query = page.getByRole('dialog', { name: 'Delete the open policy' });
    await query.getByLabel('Type open-in-development to confirm').fill('open-in-development');
    await query.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('heading', { name: 'Sign in to Millrace' }).waitFor();
    await enter(page, 'owner@example.org');
    await page.getByText('No policies yet: only administrators have access').waitFor();
  });

  await t.test(
    'a policy is made by keyboard alone, with its effect and its faults told before it is saved',
    async (t) => {
      const { keyboard } = page;
      await reach(page, page.getByRole('button', { name: 'New policy', disabled: false }));
      await keyboard.press('Enter');
      await reach(page, page.getByLabel('Name', { exact: true }));
      await keyboard.type('Own posts');
      await reach(page, page.getByRole('combobox', { name: 'Resources' }));
      await keyboard.type('posts');
      await keyboard.press('Enter');
      await reach(page, page.getByRole('combobox', { name: 'Roles' }));
      await keyboard.type('author');
      await keyboard.press('Enter');
      await reach(page, page.getByRole('textbox', { name: 'Filter' }));
      await keyboard.insertText('{"authorId": "$user.nobody"}');
      await page.getByRole('alert').filter({ hasText: "Unknown variable '$user.nobody'" }).waitFor();
      await page.locator('.cm-lintRange-error').waitFor();
      t.strictSame(await violations(), [], 'with a fault');
      await keyboard.press('Control+A');
      await keyboard.type('{"auth');
      await page.getByRole('option', { name: 'authorId' }).waitFor();
      await keyboard.press('Enter');
      await keyboard.type('"$user');
      await page.getByRole('option', { name: '$user.id' }).waitFor();
      await keyboard.press('Enter');
      await keyboard.type('}');
      await page.getByText('role:author: posts.created').waitFor();
      await page.getByText('+ 1', { exact: true }).waitFor();
      await page.evaluate('scrollTo(0, 0)');
      await picture('policy-draft');
      t.strictSame(await violations(), [], 'with its effect');
      // Without Escape the editor takes Tab for itself.
      await keyboard.press('Escape');
      await reach(page, page.getByRole('button', { name: 'Save', disabled: false }), 'Shift+Tab');
      await keyboard.press('Enter');
      await page.getByRole('heading', { name: 'Own posts' }).waitFor();
      t.match((await ask(app, 'GET /admin/policies', undefined, owner)).json().policies, [
        {
          id: POLICY,
          resources: ['posts'],
          actions: ['read'],
          principals: { roles: ['author'] },
          filter: { authorId: '$user.id' },
        },
      ]);
    },
  );

  await t.test('a change from outside arrives, and an older state is put back from the history', async (t) => {
    const { json } = await ask(app, 'GET /admin/policies', undefined, owner);
    const [{ id: _, ...policy }] = json().policies;
    const renamed = { ...policy, name: MARKUP, actions: ['read', 'delete'] };
    t.equal((await ask(app, `PUT /admin/policies/${POLICY}`, renamed, owner)).statusCode, 200);
    await page.getByRole('heading', { name: MARKUP }).waitFor();
    await page
      .getByRole('button', { name: /^Changes of version/ })
      .first()
      .click();
    await page.getByText('["read","delete"]').waitFor();
    await page.getByRole('button', { name: /^Load version/ }).click();
    t.equal(await page.getByLabel('Name', { exact: true }).inputValue(), 'Own posts');
    await page.getByRole('tab', { name: 'JSON' }).click();
    await page.getByRole('textbox', { name: 'Policy as JSON' }).waitFor();
    t.strictSame(await violations(), []);
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('heading', { name: 'Own posts' }).waitFor();
    await page.getByRole('button', { name: 'Delete' }).click();
    const query = page.getByRole('dialog', { name: 'Delete Own posts' });
    await query.getByText('− 1', { exact: true }).waitFor();
    await query.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('link', { name: 'All policies' }).click();
    await page.getByRole('row').filter({ hasText: POLICY }).waitFor();
    await picture('policies');
  });

  await t.test('the matrix shows verdicts, explains one, and the tester judges a document', async (t) => {
    await page.getByRole('tab', { name: 'Matrix' }).click();
    await page.getByRole('button', { name: 'Anonymous, read posts: denied' }).waitFor();
    const cell = page.getByRole('button', { name: 'author, read posts: allowed for some documents' });
    await cell.waitFor();
    t.strictSame(await violations(), []);
    t.equal((await ask(app, 'POST /admin/users', { username: 'ann', roles: ['author'] }, owner)).statusCode, 201);
    await page.getByRole('combobox', { name: 'Add a user to the matrix' }).fill('ann');
    await page.getByRole('option', { name: 'ann · author' }).click();
    await page.getByRole('button', { name: 'ann, read posts: allowed for some documents' }).waitFor();
    await picture('policy-matrix');
    await cell.click();
    const reason = page.getByRole('dialog', { name: 'author: read posts' });
    await reason.getByText('{"authorId":"$user.id"}').waitFor();
    await reason.getByRole('status').filter({ hasText: 'Allowed' }).waitFor();
    t.strictSame(await violations(), [], 'the reason');
    await page.reload();
    await reason.getByRole('link', { name: 'Test it with a document' }).click();
    const document = page.getByRole('textbox', { name: 'Document', exact: true });
    for (const [authorId, verdict] of [
      ['role:author', 'Allowed'],
      ['another', 'Denied'],
    ] as const) {
      await document.fill(JSON.stringify({ authorId }));
      await page.getByRole('button', { name: 'Test' }).click();
      await page.getByRole('status').filter({ hasText: verdict }).waitFor();
    }
    t.strictSame(await violations(), [], 'the tester');
    await page.getByRole('combobox', { name: 'Copy from user' }).fill('ann');
    await page.getByRole('option', { name: 'ann · author' }).click();
    t.match(await page.getByLabel('Id', { exact: true }).inputValue(), /^[0-9a-f]{24}$/, 'found by name');
    await picture('policy-tester');
  });

  await t.test('a version is restored', async (t) => {
    await page.getByRole('tab', { name: 'Versions' }).click();
    await page
      .getByRole('button', { name: /^Changes of version/ })
      .first()
      .click();
    await page.getByRole('heading', { name: POLICY }).waitFor();
    t.strictSame(await violations(), []);
    await picture('policy-versions');
    await page.getByRole('button', { name: 'Restore version 2' }).click();
    await page.getByText('Restored the policies of version 2').waitFor();
    t.strictSame((await ask(app, 'GET /admin/policies', undefined, owner)).json().policies, []);
    await ask(app, 'POST /admin/policies/versions/3/restore', undefined, owner);
  });

  await t.test('a policy names a user, who is found and shown by name', async (t) => {
    await open('/policies');
    await page.getByRole('link', { name: 'Own posts' }).click();
    await page.getByRole('combobox', { name: 'Users' }).fill('ann');
    await page.getByRole('option', { name: 'ann · author' }).click();
    const remove = page.getByRole('button', { name: /^Remove user/ });
    await remove.locator('xpath=..').getByText('ann', { exact: true }).waitFor();
    t.strictSame(await violations(), []);
    await page.getByRole('button', { name: 'Save' }).click();
    const written = async () => (await ask(app, 'GET /admin/policies', undefined, owner)).json().policies[0].principals;
    await until(async () => (await written()).users?.length === 1, 'it is saved');
    await remove.click();
    await page.getByRole('button', { name: 'Save' }).click();
    await until(async () => (await written()).users === undefined, 'and without the user');
  });

  await t.test('a viewer looks and cannot change, on a phone in the dark', async (t) => {
    const phone = { viewport: { width: 390, height: 800 }, colorScheme: 'dark' } as const;
    const other = await dashboardPage(t, browser, origin, phone);
    await other.open(`/policies?policy=${POLICY}`);
    await enter(other.page, 'viewer@example.org');
    await other.page.getByRole('heading', { name: 'Own posts' }).waitFor();
    t.ok(await other.page.getByRole('button', { name: 'Save' }).isDisabled());
    const viewer = await signIn(app, 'viewer@example.org');
    t.equal((await ask(app, `DELETE /admin/policies/${POLICY}`, undefined, viewer)).statusCode, 403);
    const seen = async (path: string, found: Locator) => {
      if (!other.page.url().endsWith(path)) await other.go(path);
      await found.first().waitFor();
      t.equal(await other.page.evaluate('document.documentElement.scrollWidth'), 390, path);
      t.strictSame(await other.violations(), [], path);
    };
    await seen(`/policies?policy=${POLICY}`, other.page.getByRole('textbox', { name: 'Filter' }));
    await other.picture('policy-phone');
    await seen('/policies', other.page.getByRole('row').filter({ hasText: POLICY }));
    t.ok(await other.page.getByRole('button', { name: 'New policy' }).isDisabled());
    await seen('/policies?view=matrix', other.page.getByRole('button', { name: 'author, read posts' }));
    await seen('/policies?view=tester', other.page.getByRole('button', { name: 'Test' }));
    await seen('/policies?view=versions', other.page.getByRole('button', { name: /^Changes of version/ }));
    t.strictSame(other.complaints, []);
  });

  await t.test('The matrix shows that single files may be read where their list may not.', async (t) => {
    const policy = { resources: ['_files'], actions: ['get'], effect: 'allow', principals: { roles: ['author'] } };
    t.equal((await ask(app, 'POST /admin/policies', { name: 'Single files', ...policy }, owner)).statusCode, 201);
    await open('/policies?view=matrix');
    await page.getByRole('button', { name: 'author, get _files: allowed', exact: true }).waitFor();
    await page.getByRole('button', { name: 'author, read _files: denied' }).waitFor();
  });
  t.strictSame(complaints, []);
});
