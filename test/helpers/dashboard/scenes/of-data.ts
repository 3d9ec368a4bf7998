/** Scenes of the pages Overview, Data, Events and Files. */
import type { Acting, Scenes } from './scene.ts';

const CSV = 'id,full name of the customer,age,note of the last person who looked\na,Ada,36,x\nb,Bob,40,y\n';

/** Chooses an item that opens a dialog, in the menu of a collection. */
async function choose({ page, press }: Acting, item: RegExp, menu = 'More'): Promise<void> {
  await press(menu);
  await page.getByRole('menuitem', { name: item }).click();
  // By any name: a dialog gets its name a moment after it is drawn.
  await page.getByRole('dialog', { name: /./ }).waitFor();
}

export const scenesOfData: Scenes = ({ file, event }) => [
  {
    name: 'overview',
    path: '/',
    act: ({ page }) => page.getByRole('table', { name: 'Newest events' }).getByRole('row').first().waitFor(),
  },
  { name: 'data', path: '/data', act: ({ see }) => see('customers') },
  { name: 'data-new-collection', path: '/data?create=true', act: ({ dialog }) => dialog('New collection') },
  {
    name: 'data-rename',
    path: '/data',
    act: (acting) => choose(acting, /^Rename/, 'Actions for customers'),
  },
  {
    name: 'data-drop',
    path: '/data',
    act: (acting) => choose(acting, /^Drop/, 'Actions for customers'),
  },
  { name: 'data-grid', path: '/data/orders', act: ({ see }) => see('40 documents') },
  {
    name: 'data-filter',
    path: '/data/orders?q=status%3Dsent%26total%5Bgte%5D%3D10%26customer.address.city%3DLa+Chaux-de-Fonds',
    act: ({ page }) => page.getByRole('textbox', { name: 'Value of condition 3' }).waitFor(),
  },
  { name: 'data-columns', path: '/data/orders?sort=id', act: ({ press }) => press('Columns') },
  {
    name: 'data-view-as',
    path: '/data/orders?sort=total',
    act: async ({ page, press }) => {
      await press('View as…');
      await page.getByRole('combobox', { name: 'View as' }).selectOption('user');
    },
  },
  { name: 'data-viewed-as', path: '/data/orders?as=role:accountant', act: ({ see }) => see('Viewing as the role') },
  { name: 'document', path: '/data/orders?doc=order-0039', act: ({ see }) => see('Revision 2') },
  {
    name: 'document-json',
    path: '/data/orders?doc=order-0039&side=json',
    act: ({ page }) => page.getByRole('textbox', { name: 'Document as JSON' }).waitFor(),
  },
  {
    name: 'document-history',
    path: '/data/orders?doc=order-0039&side=history',
    act: async ({ page, see }) => {
      await page.getByRole('button', { name: /^created/ }).click();
      await see('added');
    },
  },
  {
    name: 'document-where-named',
    path: '/data/customers?doc=ada',
    act: async ({ press, see }) => {
      await press('What references it?');
      await see('order-0001');
    },
  },
  {
    name: 'document-conflict',
    path: '/data/orders?doc=order-0011',
    act: async ({ page, press, see, server }) => {
      await page.getByLabel('status', { exact: true }).fill('mine');
      await server.write('PATCH /api/orders/order-0011', { status: 'theirs', note: 'a note of somebody else' });
      await see('This document was changed by someone else');
      await press('Save');
      await see('Nothing is lost');
    },
  },
  { name: 'document-new', path: '/data/orders?doc=_new', act: ({ dialog }) => dialog('New document in orders') },
  {
    name: 'data-import',
    path: '/data/customers',
    act: async (acting) => {
      await choose(acting, /^Import/);
      const buffer = Buffer.from(CSV);
      const input = acting.page.locator('input[type=file]');
      await input.setInputFiles({ name: 'customers.csv', mimeType: 'text/csv', buffer });
      await acting.see('Preview');
    },
  },
  { name: 'data-export', path: '/data/orders?sort=-id', act: (acting) => choose(acting, /^Export/) },
  {
    name: 'data-change',
    path: '/data/orders?q=status=new',
    act: async (acting) => {
      await choose(acting, /^Update/);
      await acting.page.getByRole('textbox', { name: 'Fields to set, as JSON' }).fill('{"status":"paid"}');
    },
  },
  { name: 'data-delete', path: '/data/orders?q=status=paid', act: (acting) => choose(acting, /^Delete/) },
  { name: 'data-indexes', path: '/data/orders?tab=indexes', act: ({ see }) => see('customer.address.city') },
  {
    name: 'data-index-drop',
    path: '/data/orders?tab=indexes&index=status',
    act: async ({ press, dialog }) => {
      await press(/^Drop the index/);
      await dialog('Drop index');
    },
  },
  { name: 'events', path: '/events', act: ({ see }) => see('orders.updated') },
  { name: 'event', path: `/events?event=${event}`, act: ({ dialog }) => dialog('orders.updated') },
  {
    name: 'events-since',
    path: '/events?types=orders.*',
    act: async ({ press, see }) => {
      await press('Since now');
      await see('Or position');
    },
  },
  {
    name: 'events-replay',
    path: '/events?types=orders.*,todos.*',
    act: async ({ page, press, dialog }) => {
      await press('Replay events');
      await (await dialog('Replay events')).getByRole('combobox', { name: 'Endpoint or trigger' }).click();
      await page.getByRole('option', { name: /^Shop of/ }).click();
    },
  },
  { name: 'files', path: '/files', act: ({ see }) => see('4 files') },
  {
    name: 'file',
    path: `/files?file=${file}`,
    act: async ({ press, see }) => {
      await press('Where is it used?');
      await see('order-0001');
    },
  },
  {
    name: 'files-delete',
    path: '/files?name=e',
    act: async ({ page, press, dialog }) => {
      await page.getByRole('checkbox', { name: 'Select prices.csv' }).check();
      await press(/^Delete/);
      await dialog(/^Delete/);
    },
  },
];
