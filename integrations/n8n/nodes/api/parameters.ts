/**
 * Parameters that both nodes have, or read in the same way: the collection with its list, and JSON. Not here: requests
 * (requests.ts).
 */
import {
  type IDataObject,
  type IExecuteFunctions,
  type IHookFunctions,
  type ILoadOptionsFunctions,
  type INodeListSearchResult,
  type INodeProperties,
  NodeOperationError,
} from 'n8n-workflow';
import { askJson } from './requests';

/** The parameter that names a collection, from the list of those that the key may read or as a text. */
export const COLLECTION: INodeProperties = {
  displayName: 'Collection',
  name: 'collection',
  type: 'resourceLocator',
  default: { mode: 'list', value: '' },
  required: true,
  description: 'Which documents. The list shows the collections that the API key may read.',
  modes: [
    {
      displayName: 'From List',
      name: 'list',
      type: 'list',
      typeOptions: { searchListMethod: 'searchCollections', searchable: true },
    },
    { displayName: 'By Name', name: 'name', type: 'string', placeholder: 'e.g. todos' },
  ],
};

/** The list of collections for the editor of n8n: those whose name or label contains `filter`. */
export async function searchCollections(this: ILoadOptionsFunctions, filter?: string): Promise<INodeListSearchResult> {
  const found = (await askJson(this, { method: 'GET', path: '/collections' })) as { name: string; label: string }[];
  const wanted = (filter ?? '').toLowerCase();
  const results = found
    .filter(({ name, label }) => `${name}\n${label}`.toLowerCase().includes(wanted))
    .map(({ name, label }) => ({ name: label, value: name }));
  return { results };
}

/** The name of the collection that a node is for. */
export function collectionOf(node: IExecuteFunctions | IHookFunctions, item = 0): unknown {
  // Hooks have no items: their second argument is the value that is taken when the parameter is not set.
  const options = { extractValue: true };
  if (!('getInputData' in node)) return node.getNodeParameter('collection', '', options);
  return node.getNodeParameter('collection', item, '', options);
}

/**
 * A parameter of the type JSON as an object: n8n gives a text, or an object when an expression makes one.
 * @throws NodeOperationError when it is no object
 */
export function jsonObject(
  node: IExecuteFunctions | IHookFunctions,
  value: unknown,
  what: string,
  item = 0,
): IDataObject {
  const found = typeof value === 'string' && value.trim() !== '' ? parse(value) : (value ?? {});
  if (found === '') return {};
  if (typeof found === 'object' && found !== null && !Array.isArray(found)) return found as IDataObject;
  throw new NodeOperationError(node.getNode(), `${what} must be a JSON object`, { itemIndex: item });
}

/** What a text says as JSON; null when it is none. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
