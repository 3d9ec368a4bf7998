/** Parameters shared by both nodes: the collection with its list, and JSON. */
import {
  type IDataObject,
  type IExecuteFunctions,
  type IHookFunctions,
  type ILoadOptionsFunctions,
  type INodeListSearchResult,
  type INodeProperties,
  NodeOperationError,
} from 'n8n-workflow';
import { requestJson } from './requests';

/** The parameter that selects a collection, from the list of readable ones or as text. */
export const COLLECTION: INodeProperties = {
  displayName: 'Collection',
  name: 'collection',
  type: 'resourceLocator',
  default: { mode: 'list', value: '' },
  required: true,
  description: 'The collection. The list contains those that the API key can read.',
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
  const found = (await requestJson(this, { method: 'GET', path: '/api' })) as { name: string; label: string }[];
  const requested = (filter ?? '').toLowerCase();
  const results = found
    .filter(({ name, label }) => `${name}\n${label}`.toLowerCase().includes(requested))
    .map(({ name, label }) => ({ name: label, value: name }));
  return { results };
}

/** The collection of a node. */
export function collectionOf(node: IExecuteFunctions | IHookFunctions, item = 0): unknown {
  // Hooks have no items: their second argument is the default value of the parameter.
  const options = { extractValue: true };
  if (!('getInputData' in node)) return node.getNodeParameter('collection', '', options);
  return node.getNodeParameter('collection', item, '', options);
}

/**
 * A JSON parameter as an object: n8n passes a text, or an object from an expression.
 * @throws NodeOperationError when it is not an object
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

/** The parsed JSON of a text; null if it is invalid. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
