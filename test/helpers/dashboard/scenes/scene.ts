/** One state of the dashboard that people see: where it is, and what is done there before it is looked at. */
import type { Locator, Page } from 'playwright-core';
import type { FilledServer } from './filled-server.ts';

export interface Scene {
  /** Of its picture, such as `data-import`. */
  readonly name: string;
  /** A place of the dashboard: `/data/orders?doc=order-0001`. */
  readonly path: string;
  /** Goes on until what is to be looked at is there. */
  readonly act?: (at: Acting) => Promise<unknown>;
}

export interface Acting {
  readonly page: Page;
  readonly server: FilledServer;
  /** Clicks the first button of this name, in the dialog if one is open. */
  press(name: string | RegExp): Promise<void>;
  /** Waits for a dialog. */
  dialog(name: string | RegExp): Promise<Locator>;
  /** Waits for a text. */
  see(text: string | RegExp): Promise<void>;
}

export type Scenes = (server: FilledServer) => readonly Scene[];

/** What a scene acts by. */
export function actingOn(page: Page, server: FilledServer): Acting {
  const dialogs = page.getByRole('dialog');
  return {
    page,
    server,
    press: async (name) => {
      const within = (await dialogs.count()) > 0 ? dialogs.last() : page;
      await within
        .getByRole('button', typeof name === 'string' ? { name, exact: true } : { name })
        .first()
        .click();
    },
    dialog: async (name) => {
      const dialog = page.getByRole('dialog', { name });
      await dialog.waitFor();
      return dialog;
    },
    see: (text) => page.getByText(text).filter({ visible: true }).first().waitFor(),
  };
}
