/**
 * Every page, drawer and dialog of the dashboard with something in it, at the width of a phone: nothing has to be scrolled sideways
 * but the grid of documents, nothing is cut, and axe-core finds no fault in drawers and dialogs (it looks at the pages themselves, in
 * both schemes, in security.test.ts). With MILLRACE_LONG=1 it looks at them in the dark, too, and pictures for people are
 * made: on a phone and on a desk, light and dark.
 */
import t from 'tap';
import { dashboardPage } from '../../helpers/dashboard/dashboard-page.ts';
import { filledServer } from '../../helpers/dashboard/scenes/filled-server.ts';
import { scenesOfAccess } from '../../helpers/dashboard/scenes/of-access.ts';
import { scenesOfCode } from '../../helpers/dashboard/scenes/of-code.ts';
import { scenesOfData } from '../../helpers/dashboard/scenes/of-data.ts';
import { actingOn } from '../../helpers/dashboard/scenes/scene.ts';
import { isLong } from '../../helpers/long-profile.ts';
import { testBrowser, whyNoBrowser } from '../../helpers/programs/browser.ts';

const options = { skip: whyNoBrowser() ?? false, timeout: 300_000 };

const PHONE = { width: 390, height: 844 };
const DESK = { width: 1280, height: 900 };

t.test('everything fits a phone', options, async (t) => {
  const server = await filledServer(t);
  const browser = await testBrowser(t);
  const { page, complaints, enter, go, show, picture, violations, sideways, cut } = await dashboardPage(
    t,
    browser,
    server.origin,
    {
      viewport: PHONE,
    },
  );
  page.setDefaultTimeout(10_000);
  const acting = actingOn(page, server);
  await enter('/account', 'owner@example.org');

  const scenes = [scenesOfData, scenesOfAccess, scenesOfCode].flatMap((scenesOf) => scenesOf(server));
  for (const { name, path, act } of scenes) {
    await t.test(name, async (t) => {
      await show('light');
      await go(path);
      await act?.(acting);
      await page.locator('[aria-busy=true]').first().waitFor({ state: 'detached' });
      const isDialog = (await page.getByRole('dialog').count()) > 0;
      if (isDialog) t.strictSame(await violations('[role=dialog]'), [], 'light');
      for (const colorScheme of isLong ? (['light', 'dark'] as const) : []) {
        await show(colorScheme);
        await picture(`everything/${name}-phone-${colorScheme}`);
      }
      if (isDialog && isLong) t.strictSame(await violations('[role=dialog]', 'colours'), [], 'dark');
      t.strictSame(await sideways(), [], 'nothing has to be scrolled sideways');
      t.strictSame(await cut(), [], 'nothing is cut');
      t.equal(await page.evaluate('document.documentElement.scrollWidth'), PHONE.width, 'no wider than a phone');
      if (!isLong) return;
      await page.setViewportSize(DESK);
      for (const colorScheme of ['dark', 'light'] as const) {
        await show(colorScheme);
        await picture(`everything/${name}-desk-${colorScheme}`);
      }
      await page.setViewportSize(PHONE);
    });
  }
  t.strictSame(complaints, []);
});
