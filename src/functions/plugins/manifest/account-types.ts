/**
 * The triggers of a manifest that name events of accounts, keys and settings alone. Pure. Not here: patterns that mean other
 * events as well, which are allowed: what the plugin may not be told is left out then.
 */
import { systemTypesOf } from '../../../events/read/wanted-types.ts';
import { SYSTEM_TYPES } from '../../../kernel/event-types.ts';
import type { Manifest } from './manifest.ts';
import type { ManifestFault } from './plugin-fault.ts';

export function accountTriggers({ functions }: Manifest): readonly ManifestFault[] {
  return functions.flatMap(({ on = [] }, index) =>
    on.flatMap((pattern, at) => {
      const types = pattern.startsWith('system.') ? systemTypesOf(pattern) : [];
      const isOfAccounts = types.length > 0 && types.every((type) => SYSTEM_TYPES.get(type) === 'admin:accounts');
      const message = `'${pattern}' needs the right to read accounts, which you do not have`;
      return isOfAccounts ? [{ pointer: `/functions/${index}/on/${at}`, message }] : [];
    }),
  );
}
