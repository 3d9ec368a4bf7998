/** The operation that calls a function: its parameters and request. */
import type {
  IDataObject,
  IExecuteFunctions,
  IHttpRequestMethods,
  INodeExecutionData,
  INodeProperties,
} from 'n8n-workflow';
import { jsonObject } from '../api/parameters';
import { type ApiResponse, parsed, segment, send } from '../api/requests';
import { type Operation, one, shownFor } from './operations';

const RESOURCE = 'function';
const WITH_BODY = ['DELETE', 'PATCH', 'POST', 'PUT'];

export const FUNCTION_PROPERTIES: INodeProperties[] = [
  {
    displayName: 'Operation',
    name: 'operation',
    type: 'options',
    noDataExpression: true,
    displayOptions: { show: { resource: [RESOURCE] } },
    options: [{ name: 'Call', value: 'call', description: 'Call an HTTP function', action: 'Call a function' }],
    default: 'call',
  },
  ...shownFor(
    RESOURCE,
    ['call'],
    [
      {
        displayName: 'Method',
        name: 'method',
        type: 'options',
        options: ['DELETE', 'GET', 'PATCH', 'POST', 'PUT'].map((name) => ({ name, value: name })),
        default: 'POST',
        description: 'The HTTP method of the function',
      },
      {
        displayName: 'Path',
        name: 'path',
        type: 'string',
        default: '',
        required: true,
        placeholder: 'e.g. invoice/7/total',
        description: 'The path of the function after /fn/',
      },
      {
        displayName: 'Query',
        name: 'query',
        type: 'json',
        default: '{}',
        description: 'Query parameters as a JSON object',
      },
      {
        displayName: 'Body',
        name: 'body',
        type: 'json',
        default: '{}',
        displayOptions: { show: { method: WITH_BODY } },
        description: 'The request body, as a JSON object',
      },
    ],
  ),
];

export const FUNCTION_OPERATIONS: Readonly<Record<string, Operation>> = {
  async call(node, item) {
    const method = String(node.getNodeParameter('method', item)) as IHttpRequestMethods;
    const query = jsonObject(node, node.getNodeParameter('query', item, '{}'), 'Query', item);
    const body = WITH_BODY.includes(method)
      ? { body: JSON.stringify(jsonObject(node, node.getNodeParameter('body', item, '{}'), 'Body', item)) }
      : {};
    const response = await send(node, { method, path: pathOf(node, item), query: texts(query), ...body, item });
    return outputs(node, response, item);
  },
};

function pathOf(node: IExecuteFunctions, item: number): string {
  const path = String(node.getNodeParameter('path', item)).replace(/^\/*(?:fn\/+)?/, '');
  return `/fn/${path
    .split('/')
    .map((part) => segment(node, part, 'A part of the path', item))
    .join('/')}`;
}

function texts(query: IDataObject): Record<string, string> {
  const text = (value: unknown) => (typeof value === 'object' ? JSON.stringify(value) : String(value));
  return Object.fromEntries(Object.entries(query).map(([name, value]) => [name, text(value)]));
}

/** The response of a function as items: each object of a list, an object unchanged, anything else under `result`. */
function outputs(node: IExecuteFunctions, response: ApiResponse, item: number): INodeExecutionData[] {
  const isJson = /^application\/(?:[\w.]+\+)?json\b/.test(String(response.headers['content-type'] ?? ''));
  const result = isJson ? parsed(node, response, item) : response.body.toString('utf8');
  const output = (value: unknown): INodeExecutionData => ({
    json:
      typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : { result: value as string },
  });
  if (result === undefined || result === '') return one({});
  return Array.isArray(result) ? result.map(output) : [output(result)];
}
