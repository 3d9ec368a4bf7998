/** Signs in at the dashboard as a person does. */
import type { Page } from 'playwright-core';
import { PASSWORD } from '../accounts.ts';

/** @param page at any address of the dashboard, where it asks for the sign-in */
export async function signInAt(page: Page, name: string): Promise<void> {
  await page.getByLabel('User name or e-mail address').fill(name);
  await page.getByRole('textbox', { name: 'Password' }).fill(PASSWORD);
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: `Account of ${name}` }).waitFor();
}
