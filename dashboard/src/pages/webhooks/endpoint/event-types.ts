/** Event types to choose from: those of the existing collections, and common ones of the system. */
import { useResource } from '../../../api/live.ts';

const OF_SYSTEM = [
  'system.file.created',
  'system.user.created',
  'system.endpoint.disabled',
  'system.delivery.failed',
  'system.run.attempt-failed',
];

export function useEventTypes(): readonly string[] {
  const { data: collections = [] } = useResource<readonly { readonly name: string }[]>('/admin/collections');
  const ofCollections = collections.flatMap(({ name }) =>
    ['*', 'created', 'updated', 'deleted'].map((verb) => `${name}.${verb}`),
  );
  return ['*', ...ofCollections, ...OF_SYSTEM];
}
