/** Texts that must not be in any response to an escape attempt. */
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Test } from 'tap';

export const SECRET = 'sk_of_another_plugin';
export const IN_ENVIRONMENT = 'value_of_the_environment';
const ROOT = dirname(dirname(dirname(dirname(fileURLToPath(import.meta.url)))));
/** The result of `look` inside, without Node. */
const NOTHING = 'undefined,undefined,undefined,undefined,undefined';
const OF_THE_SERVER = [SECRET, IN_ENVIRONMENT, ROOT, 'node:internal', 'isolated-vm/', '/etc/'];

/** An attempt's response contains nothing of the server, its environment, Node or another plugin. */
export function reportsNothing(t: Test, reported: string): void {
  const shown = reported.slice(0, 300);
  for (const found of OF_THE_SERVER) t.notOk(reported.includes(found), `${found} is not in ${shown}`);
  // The result of `look`: nothing of Node, or no way to look.
  t.notMatch(reported.replaceAll(NOTHING, ''), /object,|function,/, shown);
  t.notMatch(reported, /owner|"eve"/, shown);
}
