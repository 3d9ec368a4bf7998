/** Signs in at the dashboard through its form. */
import type { Page } from 'playwright-core';
import { PASSWORD } from '../users.ts';

/** @param page at any URL of the dashboard, with the sign-in form */
export async function signInAt(page: Page, name: string): Promise<void> {
  await page.getByLabel('User name or e-mail address').fill(name);
  await page.getByRole('textbox', { name: 'Password' }).fill(PASSWORD);
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: `Account of ${name}` }).waitFor();
}
