/** The triggers of a manifest that name events of users, keys and settings. Pure. */
import { matchingSystemTypes } from '../../../events/read/type-patterns.ts';
import { SYSTEM_EVENT_TYPES } from '../../../lib/event-types.ts';
import type { Manifest } from './manifest.ts';
import type { ManifestDiagnostic } from './plugin-error.ts';

export function userTriggerDiagnostics({ functions }: Manifest): readonly ManifestDiagnostic[] {
  return functions.flatMap(({ on = [] }, index) =>
    on.flatMap((pattern, at) => {
      const types = pattern.startsWith('system.') ? matchingSystemTypes(pattern) : [];
      const isUserEvent = types.length > 0 && types.every((type) => SYSTEM_EVENT_TYPES.get(type) === '_admin:accounts');
      const message = `'${pattern}' requires permission to read users, which you do not have`;
      return isUserEvent ? [{ pointer: `/functions/${index}/on/${at}`, message }] : [];
    }),
  );
}
