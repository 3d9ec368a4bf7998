/** The settings of the process that responds. They change only with a restart. */
import type { UseQueryResult } from '@tanstack/react-query';
import type { MillraceError } from '../../../../client/client.ts';
import type { EffectiveSettings } from '../../../../src/http/settings/effective-settings-schema.ts';
import { useResource } from '../../api/live.ts';

export function useEffectiveSettings(): UseQueryResult<EffectiveSettings, MillraceError> {
  return useResource<EffectiveSettings>('/admin/settings/effective');
}

export type { EffectiveSettings };
