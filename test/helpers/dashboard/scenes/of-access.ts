/** Scenes of the pages Users, Keys, Policies, Settings and of the administrator's own account. */
import type { Scenes } from './scene.ts';

export const scenesOfAccess: Scenes = ({ user, key }) => [
  { name: 'users', path: '/users', act: ({ see }) => see('grace') },
  { name: 'user-new', path: '/users?create=true', act: ({ dialog }) => dialog('New user') },
  { name: 'user', path: `/users?user=${user}`, act: ({ dialog }) => dialog('User ada') },
  {
    name: 'user-delete',
    path: `/users?user=${user}&search=a`,
    act: async ({ press, dialog }) => {
      await dialog('User ada');
      await press('Delete');
      await dialog('Delete ada');
    },
  },
  { name: 'keys', path: '/keys', act: ({ see }) => see('The nightly export') },
  {
    name: 'key-new',
    path: '/keys?create=true',
    act: async ({ press, dialog }) => {
      const form = await dialog('New key');
      await form.getByLabel('Name').fill('the-key-of-the-labels');
      await press('Create key');
      await dialog('Key created');
    },
  },
  {
    name: 'key-revoke',
    path: '/keys',
    act: async ({ press, dialog }) => {
      await press(/^Revoke The nightly/);
      await dialog(/^Revoke/);
    },
  },
  { name: 'policies', path: '/policies', act: ({ see }) => see('Anybody may call') },
  {
    name: 'policy',
    path: '/policies?policy=authors-see-the-orders-of-their-own-branch',
    act: async ({ page, see }) => {
      await page.getByRole('textbox', { name: 'Filter' }).waitFor();
      await page.getByLabel('Name', { exact: true }).fill('Another name');
      await see(/Before you save|What saving|would/);
    },
  },
  {
    name: 'policy-draft',
    path: '/policies?policy=new',
    act: async ({ page, see }) => {
      await page.getByLabel('Name', { exact: true }).fill('Everybody sees the orders');
      await page.getByRole('combobox', { name: 'Resources' }).fill('orders');
      await page.keyboard.press('Enter');
      await page.keyboard.press('Tab');
      await see('anonymous: orders.created');
    },
  },
  {
    name: 'policy-json',
    path: '/policies?policy=everything-is-read-by-support',
    act: async ({ page }) => {
      await page.getByRole('tab', { name: 'JSON' }).click();
      await page.getByRole('textbox', { name: 'Policy as JSON' }).waitFor();
    },
  },
  {
    name: 'policy-history',
    path: '/policies?policy=authors-see-the-orders-of-their-own-branch',
    act: async ({ press, see }) => {
      await press(/^Changes of version/);
      await see('changed');
    },
  },
  {
    name: 'policy-delete',
    path: '/policies?policy=everything-is-read-by-accountant',
    act: async ({ press, dialog }) => {
      await press('Delete');
      await dialog(/^Delete Everything/);
    },
  },
  {
    name: 'policy-matrix',
    path: `/policies?view=matrix&as=key:${key}`,
    act: ({ page }) => page.getByRole('button', { name: /^The nightly.*read orders/ }).waitFor(),
  },
  {
    name: 'policy-matrix-cell',
    path: '/policies?view=matrix&principal=role:author&action=read&resource=orders',
    act: ({ dialog }) => dialog('author: read orders'),
  },
  {
    name: 'policy-tester',
    path: '/policies?view=tester',
    act: async ({ page, press }) => {
      await page.getByRole('combobox', { name: 'Copy from user' }).fill('ada');
      await page.getByRole('option', { name: /^ada/ }).click();
      await page.getByRole('textbox', { name: 'Document', exact: true }).fill('{"status":"new"}');
      await press('Test');
      await page
        .getByRole('status')
        .filter({ hasText: /Allowed|Denied/ })
        .waitFor();
    },
  },
  { name: 'policy-versions', path: '/policies?view=versions&version=6', act: ({ see }) => see('changed') },
  { name: 'settings', path: '/settings', act: ({ see }) => see('Test sign-in') },
  {
    name: 'settings-check',
    path: '/settings?tab=sign-in',
    act: async ({ page, press }) => {
      await press('Check');
      await page
        .getByText(/clock|redirect|reach/i)
        .first()
        .waitFor();
    },
  },
  {
    name: 'settings-provider',
    path: '/settings?provider=company-of-our-friends',
    act: ({ dialog }) => dialog(/^Edit/),
  },
  { name: 'settings-provider-new', path: '/settings?create=true', act: ({ dialog }) => dialog('Add provider') },
  {
    name: 'settings-team',
    path: '/settings?tab=team',
    act: ({ page }) => page.getByRole('link', { name: 'owner@example.org' }).waitFor(),
  },
  { name: 'settings-installation', path: '/settings?tab=instance', act: ({ see }) => see('Backup') },
  {
    name: 'settings-limits',
    path: '/settings?tab=limits',
    act: ({ see }) => see('MILLRACE_QUOTA_FILE_COUNT_PER_USER'),
  },
  { name: 'settings-letters', path: '/settings?tab=emails', act: ({ see }) => see('sign-in-method-changed') },
  {
    name: 'settings-letter',
    path: '/settings?tab=emails&template=magic-link.en',
    act: async ({ page, press }) => {
      await page.getByRole('dialog', { name: /./ }).getByLabel('Subject').waitFor();
      await press('Preview');
      await page.frameLocator('iframe').getByRole('link', { name: 'Sign in' }).waitFor();
    },
  },
  {
    name: 'account-set-up',
    path: '/account',
    act: async ({ page, press, dialog }) => {
      await press('Set up app');
      await dialog('Set up authenticator app');
      await page.waitForFunction('document.querySelector("img[alt^=QR]")?.naturalWidth > 0');
    },
  },
];
