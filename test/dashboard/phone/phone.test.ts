/**
 * Every page, drawer and dialog of the dashboard with something in it, at the width of a phone: nothing has to be scrolled sideways
 * but the grid of documents, nothing is cut, and axe-core finds no fault in drawers and dialogs in either scheme (it looks at the
 * pages themselves in security.test.ts and in the files of the pages). With MILLRACE_LONG=1 pictures for people
 * are made in place of asking axe-core: on a phone and on a desk, light and dark.
 */
import t from 'tap';
import { dashboardPage } from '../../helpers/dashboard/dashboard-page.ts';
import { filledServer } from '../../helpers/dashboard/scenes/filled-server.ts';
import { scenesOfAccess } from '../../helpers/dashboard/scenes/of-access.ts';
import { scenesOfCode } from '../../helpers/dashboard/scenes/of-code.ts';
import { scenesOfData } from '../../helpers/dashboard/scenes/of-data.ts';
import { actingOn } from '../../helpers/dashboard/scenes/scene.ts';
import { signInAt } from '../../helpers/dashboard/sign-in.ts';
import { testBrowser, whyNoBrowser } from '../../helpers/programs/browser.ts';

const IS_LONG = process.env['MILLRACE_LONG'] === '1';
const options = { skip: whyNoBrowser() ?? false, timeout: 300_000 };

/** A scheme changes nothing but colours. */
const RULES = { light: 'all', dark: 'colours' } as const;

const PHONE = { width: 390, height: 844 };
const DESK = { width: 1280, height: 900 };

t.test('everything fits a phone', options, async (t) => {
  const server = await filledServer(t);
  const browser = await testBrowser(t);
  const { page, complaints, open, go, show, picture, violations, sideways, cut } = await dashboardPage(
    t,
    browser,
    server.origin,
    {
      viewport: PHONE,
    },
  );
  page.setDefaultTimeout(10_000);
  const acting = actingOn(page, server);
  await open('/account');
  await signInAt(page, 'owner@example.org');

  const scenes = [scenesOfData, scenesOfAccess, scenesOfCode].flatMap((scenesOf) => scenesOf(server));
  for (const { name, path, act } of scenes) {
    await t.test(name, async (t) => {
      await show('light');
      await go(path);
      await act?.(acting);
      await page.locator('[aria-busy=true]').first().waitFor({ state: 'detached' });
      const isDialog = (await page.getByRole('dialog').count()) > 0;
      const schemes = isDialog || IS_LONG ? (['light', 'dark'] as const) : [];
      for (const colorScheme of schemes) {
        await show(colorScheme);
        if (IS_LONG) await picture(`everything/${name}-phone-${colorScheme}`);
        else t.strictSame(await violations('[role=dialog]', RULES[colorScheme]), [], colorScheme);
      }
      t.strictSame(await sideways(), [], 'nothing has to be scrolled sideways');
      t.strictSame(await cut(), [], 'nothing is cut');
      t.equal(await page.evaluate('document.documentElement.scrollWidth'), PHONE.width, 'no wider than a phone');
      if (!IS_LONG) return;
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
