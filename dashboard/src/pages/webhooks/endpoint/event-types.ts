/** Types of events to choose from: those of the collections that there are, and the ones of the system that people want. */
import { useResource } from '../../../api/live.ts';

const OF_SYSTEM = [
  'system.file.created',
  'system.user.created',
  'system.endpoint.disabled',
  'system.delivery.dead',
  'system.function.failed',
];

export function useEventTypes(): readonly string[] {
  const { data: collections = [] } = useResource<readonly { readonly name: string }[]>('/admin/collections');
  const ofCollections = collections.flatMap(({ name }) =>
    ['*', 'created', 'updated', 'deleted'].map((verb) => `${name}.${verb}`),
  );
  return ['*', ...ofCollections, ...OF_SYSTEM];
}
