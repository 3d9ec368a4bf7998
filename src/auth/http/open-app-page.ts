/**
 * The page that leads from the link of an e-mail to a native app: many mail programs remove links with schemes of apps. The secret
 * stands after `#`, which browsers never send. Pure.
 */
import { escaped, type SmallPage, smallPage } from './small-page.ts';

/** Its path; the parameter `to` has the URL of the app. */
export const OPEN_APP_PATH = '/open-app';

const SCRIPT =
  "const link=document.getElementById('open');link.href+=location.hash;history.replaceState(null,'',location.href.split('#')[0])";

/** @param url of the app, from the list of redirects */
export function openAppPage(url: string): SmallPage {
  return smallPage(
    'Open the app',
    `<p>Continue on the device where the app is installed.</p><p><a id="open" href="${escaped(url)}">Open the app</a></p>`,
    SCRIPT,
  );
}
