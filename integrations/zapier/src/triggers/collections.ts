/** Hidden trigger: the collections that the key may read, for the drop-down list of every form. */
import { defineTrigger, type ZObject } from 'zapier-platform-core';
import { call } from '../api/requests.ts';

async function perform(z: ZObject) {
  const { data } = await call(z, ['api']);
  const found: readonly { name: string; label: string }[] = data;
  return found.map(({ name, label }) => ({ id: name, name: label }));
}

export const collections = defineTrigger({
  key: 'collections',
  noun: 'Collection',
  display: {
    label: 'List Collections',
    description: 'The collections to choose from.',
    hidden: true,
  },
  operation: { type: 'polling', perform, sample: { id: 'todos', name: 'Todos' } },
});
