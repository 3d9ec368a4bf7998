/** One visible state of the dashboard: its route, and the actions before it is checked. */
import type { Locator, Page } from 'playwright-core';
import type { FilledServer } from './filled-server.ts';

export interface Scene {
  /** Name of its screenshot, such as `data-import`. */
  readonly name: string;
  /** A route of the dashboard: `/data/orders?doc=order-0001`. */
  readonly path: string;
  /** Continues until the state is reached. */
  readonly act?: (at: Acting) => Promise<unknown>;
}

export interface Acting {
  readonly page: Page;
  readonly server: FilledServer;
  /** Clicks the first button with this name, in the dialog if one is open. */
  press(name: string | RegExp): Promise<void>;
  /** Waits for a dialog. */
  dialog(name: string | RegExp): Promise<Locator>;
  /** Waits for a text. */
  see(text: string | RegExp): Promise<void>;
}

export type Scenes = (server: FilledServer) => readonly Scene[];

/** Actions of a scene. */
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
