/** Scenes of the pages Functions, Webhooks, Integrations and API, and of the search. */
import type { Scene, Scenes } from './scene.ts';

const WEBHOOK_DIALOGS = [
  ['test', 'Send test event'],
  ['recover', 'Recover deliveries'],
  ['replay', 'Replay events'],
  ['delete', 'Delete endpoint'],
] as const;
const PLUGIN = '/functions/remember';

export const scenesOfCode: Scenes = ({ endpoint, delivery, run }) => [
  { name: 'functions', path: '/functions', act: ({ see }) => see('Europe/Zurich') },
  { name: 'functions-new', path: '/functions?dialog=new', act: ({ dialog }) => dialog('New plugin') },
  { name: 'functions-runs', path: '/functions?tab=runs', act: ({ see }) => see('remember/follow') },
  { name: 'functions-run', path: `/functions?tab=runs&run=${run}`, act: ({ see }) => see('documents.create') },
  {
    name: 'functions-job-cancel',
    path: '/functions?tab=jobs',
    act: async ({ press, dialog }) => {
      await press('Cancel');
      await dialog('Cancel job');
    },
  },
  {
    name: 'function-code',
    path: `${PLUGIN}?file=greet.ts`,
    act: ({ page }) => page.getByRole('textbox', { name: 'greet.ts' }).waitFor(),
  },
  {
    name: 'function-add-file',
    path: `${PLUGIN}?file=ask.ts`,
    act: async ({ page, press }) => {
      await press('Add file');
      await page.getByRole('textbox', { name: 'Path' }).waitFor();
    },
  },
  {
    name: 'function-try',
    path: `${PLUGIN}?tab=try&function=greet`,
    act: async ({ press, see, page }) => {
      await press('Start dry run');
      await see('documents.create');
      await page.getByRole('textbox', { name: 'Path' }).fill('/fn/greet/Ada');
      await press('Send');
      await page.getByRole('status').getByText('Hello, Ada').waitFor();
    },
  },
  { name: 'function-runs', path: `${PLUGIN}?tab=runs`, act: ({ see }) => see('trigger of') },
  {
    name: 'function-versions',
    path: `${PLUGIN}?tab=versions&version=2`,
    act: ({ see }) => see('Only follows, until'),
  },
  { name: 'function-secrets', path: `${PLUGIN}?tab=secrets`, act: ({ see }) => see('MAIL_KEY') },
  { name: 'function-delete', path: `${PLUGIN}?dialog=delete`, act: ({ dialog }) => dialog(/^Delete the plugin/) },
  { name: 'webhooks', path: '/webhooks', act: ({ see }) => see('Shop of') },
  {
    name: 'webhook-new',
    path: '/webhooks?dialog=new',
    act: async ({ press, page }) => {
      await press('Filter, headers, retries, rate');
      await press('Add header');
      await page.getByRole('textbox', { name: 'Header value' }).waitFor();
    },
  },
  { name: 'webhook', path: `/webhooks?endpoint=${endpoint}`, act: ({ see }) => see('Custom headers') },
  {
    name: 'webhook-edit',
    path: `/webhooks?endpoint=${endpoint}&dialog=edit`,
    act: ({ dialog }) => dialog('Edit endpoint'),
  },
  ...WEBHOOK_DIALOGS.map(
    ([dialog, title]): Scene => ({
      name: `webhook-${dialog}`,
      path: `/webhooks?endpoint=${endpoint}&dialog=${dialog}`,
      act: (at) => at.dialog(title),
    }),
  ),
  {
    name: 'webhook-secret',
    path: `/webhooks?endpoint=${endpoint}&dialog=rotate`,
    act: async ({ press, dialog }) => {
      await dialog('Rotate secret');
      await press('Rotate');
      await dialog('Endpoint secret');
    },
  },
  {
    name: 'webhook-replayed',
    path: `/webhooks?endpoint=${endpoint}&dialog=replay`,
    act: async ({ press, see }) => {
      await press('Replay');
      await see('The replay is done');
    },
  },
  {
    name: 'webhook-delivery',
    path: `/webhooks?delivery=${delivery}`,
    act: async ({ page, see }) => {
      await page.getByText('Request and response').first().click();
      await see('webhook-signature');
    },
  },
  { name: 'integrations', path: '/integrations', act: ({ see }) => see('hooks.example.invalid') },
  { name: 'integrations-n8n', path: '/integrations?service=n8n', act: ({ see }) => see('Millrace Trigger') },
  {
    name: 'integrations-remove',
    path: '/integrations?service=other',
    act: async ({ press, dialog }) => {
      await press(/^Remove the hook to/);
      await dialog('Remove hook');
    },
  },
  {
    name: 'api',
    path: '/api?collection=orders',
    act: async ({ page, press }) => {
      await press('Send');
      await page.getByRole('status').getByText('200').waitFor();
    },
  },
  {
    name: 'api-subscribe',
    path: '/api?collection=orders&request=subscribe&language=typescript',
    act: async ({ press, see }) => {
      await press('Subscribe');
      await see(/^\d+ documents$/);
    },
  },
  {
    name: 'navigation',
    path: '/account',
    act: async ({ page }) => {
      const burger = page.getByRole('button', { name: 'Navigation' });
      if (await burger.isVisible()) await burger.click();
      await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Settings' }).waitFor();
    },
  },
  {
    name: 'search',
    path: '/account',
    act: async ({ page, see }) => {
      await page.getByRole('button', { name: 'Search' }).click();
      await page.getByRole('textbox', { name: 'Search' }).fill('ada');
      await see('ada.lovelace.of');
    },
  },
];
