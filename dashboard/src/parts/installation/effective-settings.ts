/** The settings of the process that answers. They change with a restart only. */
import type { UseQueryResult } from '@tanstack/react-query';
import type { Problem } from '../../../../client/client.ts';
import type { EffectiveSettings } from '../../../../src/admin/installation/installation-shapes.ts';
import { useResource } from '../../api/live.ts';

export function useEffectiveSettings(): UseQueryResult<EffectiveSettings, Problem> {
  return useResource<EffectiveSettings>('/admin/settings/effective');
}

export type { EffectiveSettings };
