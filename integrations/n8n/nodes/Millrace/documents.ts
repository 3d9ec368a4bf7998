/** Document operations: their parameters and requests. */
import type { IDataObject, IExecuteFunctions, INodeExecutionData, INodeProperties } from 'n8n-workflow';
import { COLLECTION, collectionOf, jsonObject } from '../api/parameters';
import { type ApiResponse, parsed, requestJson, segment, send } from '../api/requests';
import { type Operation, one, shownFor } from './operations';

const RESOURCE = 'document';
/** Documents per request; Millrace allows 1,000. */
const PAGE = 500;

const ID: INodeProperties = {
  displayName: 'Document ID',
  name: 'documentId',
  type: 'string',
  default: '',
  required: true,
  placeholder: 'e.g. 6b03f844c3d857ed85c412ba',
  description: 'The ID of the document',
};

const FIELDS: INodeProperties[] = [
  {
    displayName: 'Fields From',
    name: 'fieldsFrom',
    type: 'options',
    options: [
      { name: 'Input Item', value: 'item', description: 'All fields of the input item' },
      { name: 'JSON', value: 'json', description: 'An object that you enter here' },
    ],
    default: 'json',
    description: 'The source of the document fields',
  },
  {
    displayName: 'Fields',
    name: 'fields',
    type: 'json',
    default: '{}',
    required: true,
    displayOptions: { show: { fieldsFrom: ['json'] } },
    description:
      'The fields of the document as a JSON object. In an update, null removes a field, and omitted fields are unchanged.',
  },
];

export const DOCUMENT_PROPERTIES: INodeProperties[] = [
  {
    displayName: 'Operation',
    name: 'operation',
    type: 'options',
    noDataExpression: true,
    displayOptions: { show: { resource: [RESOURCE] } },
    options: [
      { name: 'Create', value: 'create', description: 'Create a document', action: 'Create a document' },
      { name: 'Delete', value: 'delete', description: 'Delete a document by its ID', action: 'Delete a document' },
      { name: 'Get', value: 'get', description: 'Get a document by its ID', action: 'Get a document' },
      {
        name: 'Get Many',
        value: 'getAll',
        description: 'Get the documents that match a filter',
        action: 'Get many documents',
      },
      {
        name: 'Update',
        value: 'update',
        description: 'Change some fields of a document',
        action: 'Update a document',
      },
    ],
    default: 'getAll',
  },
  ...shownFor(RESOURCE, ['create', 'delete', 'get', 'getAll', 'update'], [COLLECTION]),
  ...shownFor(RESOURCE, ['delete', 'get', 'update'], [ID]),
  ...shownFor(RESOURCE, ['create', 'update'], FIELDS),
  ...shownFor(
    RESOURCE,
    ['create'],
    [
      {
        displayName: 'Options',
        name: 'options',
        type: 'collection',
        placeholder: 'Add option',
        default: {},
        options: [
          {
            displayName: 'Idempotency Key',
            name: 'idempotencyKey',
            type: 'string',
            default: '',
            placeholder: 'e.g. order-17',
            description:
              'Idempotency key: if n8n retries a creation with the same key, no second document is created. Must be different for each document.',
          },
        ],
      },
    ],
  ),
  ...shownFor(
    RESOURCE,
    ['getAll'],
    [
      {
        displayName: 'Return All',
        name: 'returnAll',
        type: 'boolean',
        default: false,
        description: 'Whether to return all results or only up to a given limit',
      },
      {
        displayName: 'Limit',
        name: 'limit',
        type: 'number',
        typeOptions: { minValue: 1 },
        default: 50,
        displayOptions: { show: { returnAll: [false] } },
        description: 'Max number of results to return',
      },
      {
        displayName: 'Filter',
        name: 'filter',
        type: 'json',
        default: '{}',
        description: 'A filter, as JSON: {"done": false, "price": {"$lt": 10}}. An empty object matches all documents.',
      },
      {
        displayName: 'Options',
        name: 'options',
        type: 'collection',
        placeholder: 'Add option',
        default: {},
        options: [
          {
            displayName: 'Fields',
            name: 'fields',
            type: 'string',
            default: '',
            placeholder: 'e.g. title,done',
            description: 'Fields to return, separated by commas; a minus excludes a field. By default all.',
          },
          {
            displayName: 'Sort',
            name: 'sort',
            type: 'string',
            default: '',
            placeholder: 'e.g. -_meta.createdAt,title',
            description: 'Fields to sort by, separated by commas; a minus means descending',
          },
        ],
      },
    ],
  ),
];

export const DOCUMENT_OPERATIONS: Readonly<Record<string, Operation>> = {
  async create(node, item) {
    const key = node.getNodeParameter('options.idempotencyKey', item, '');
    const headers: Record<string, string> = key ? { 'idempotency-key': String(key) } : {};
    const body = JSON.stringify(fieldsOf(node, item));
    const document = await requestJson(node, { method: 'POST', path: collectionPath(node, item), body, headers, item });
    return one(document as IDataObject);
  },

  async delete(node, item) {
    await send(node, { method: 'DELETE', path: documentPath(node, item), item });
    return one({ id: String(node.getNodeParameter('documentId', item)), deleted: true });
  },

  async get(node, item) {
    const document = await requestJson(node, { method: 'GET', path: documentPath(node, item), item });
    return one(document as IDataObject);
  },

  async getAll(node, item) {
    const filter = jsonObject(node, node.getNodeParameter('filter', item, '{}'), 'Filter', item);
    const { sort, fields } = node.getNodeParameter('options', item, {}) as { sort?: string; fields?: string };
    const requested = { filter: JSON.stringify(filter), ...(sort && { sort }), ...(fields && { fields }) };
    const limit = node.getNodeParameter('returnAll', item, false)
      ? null
      : Number(node.getNodeParameter('limit', item, 50));
    return pages(node, { path: collectionPath(node, item), requested, limit, item });
  },

  async update(node, item) {
    const body = JSON.stringify(fieldsOf(node, item));
    const headers = { 'content-type': 'application/merge-patch+json' };
    const document = await requestJson(node, { method: 'PATCH', path: documentPath(node, item), body, headers, item });
    return one(document as IDataObject);
  },
};

interface Listing {
  readonly path: string;
  readonly requested: Readonly<Record<string, string>>;
  /** Maximum number of documents; null for all. */
  readonly limit: number | null;
  readonly item: number;
}

/** Reads a list page by page, up to its end or the limit. */
async function pages(
  node: IExecuteFunctions,
  { path, requested, limit, item }: Listing,
): Promise<INodeExecutionData[]> {
  const found: INodeExecutionData[] = [];
  let cursor: string | null = null;
  do {
    const size = limit === null ? PAGE : Math.min(PAGE, limit - found.length);
    const query: Record<string, string> = { ...requested, limit: String(size), ...(cursor !== null && { cursor }) };
    const response: ApiResponse = await send(node, { method: 'GET', path, query, item });
    for (const json of parsed(node, response, item) as IDataObject[]) found.push({ json });
    cursor = nextCursor(response);
  } while (cursor !== null && (limit === null || found.length < limit));
  return found;
}

/** The cursor in the link to the next page (RFC 8288); null on the last one. The rest of the query is unchanged. */
function nextCursor({ headers }: ApiResponse): string | null {
  const [, next] = /<([^<>]*)>;\s*rel="next"/.exec(String(headers['link'] ?? '')) ?? [];
  return next === undefined ? null : new URL(next, 'http://localhost').searchParams.get('cursor');
}

function collectionPath(node: IExecuteFunctions, item: number): string {
  return `/api/${segment(node, collectionOf(node, item), 'Collection', item)}`;
}

function documentPath(node: IExecuteFunctions, item: number): string {
  const id = segment(node, node.getNodeParameter('documentId', item), 'Document ID', item);
  return `${collectionPath(node, item)}/${id}`;
}

function fieldsOf(node: IExecuteFunctions, item: number): IDataObject {
  if (node.getNodeParameter('fieldsFrom', item, 'json') === 'item') return node.getInputData()[item]?.json ?? {};
  return jsonObject(node, node.getNodeParameter('fields', item), 'Fields', item);
}
