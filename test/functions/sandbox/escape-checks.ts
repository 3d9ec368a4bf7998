/** What must not be in anything that an attempt to escape is answered with. Not here: the attempts (escape-attempts.ts). */
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Test } from 'tap';

export const SECRET = 'sk_of_another_plugin';
export const IN_ENVIRONMENT = 'value_of_the_environment';
const ROOT = dirname(dirname(dirname(dirname(fileURLToPath(import.meta.url)))));
/** What `look` says inside, where there is nothing of Node. */
const NOTHING = 'undefined,undefined,undefined,undefined,undefined';
const OF_THE_SERVER = [SECRET, IN_ENVIRONMENT, ROOT, 'node:internal', 'isolated-vm/', '/etc/'];

/** Nothing of the server, of its environment, of Node or of another plugin is in what an attempt was told. */
export function tellsNothing(t: Test, told: string): void {
  const shown = told.slice(0, 300);
  for (const found of OF_THE_SERVER) t.notOk(told.includes(found), `${found} is not in ${shown}`);
  // Whatever `look` found: nothing of Node, or no way to look.
  t.notMatch(told.replaceAll(NOTHING, ''), /object,|function,/, shown);
  t.notMatch(told, /owner|"eve"/, shown);
}
