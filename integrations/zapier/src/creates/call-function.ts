/** Action: calls a function of the instance, which is a path below `/fn`. */
import { type Bundle, defineCreate, type ZObject } from 'zapier-platform-core';
import { IDEMPOTENCY_FIELD, write } from '../api/writes.ts';
import { parseJson } from '../fields/input-fields.ts';

const METHODS = ['POST', 'GET', 'PUT', 'PATCH', 'DELETE'] as const;

async function perform(z: ZObject, bundle: Bundle) {
  const { path, method, body, query } = bundle.inputData;
  const segments = String(path)
    .replace(/^\/?(?:fn\/)?/, '')
    .split('/');
  const verb = METHODS.find((one) => one === method) ?? 'POST';
  const { status, data, content } = await write(z, bundle, ['fn', ...segments], {
    method: verb,
    query: textsOf(query),
    ...(verb === 'GET' || body === undefined ? {} : { json: parseJson(body, 'Body') }),
  });
  // A function may return any value, but Zapier requires an object; a text that is not JSON has no data.
  return { status, result: data ?? (content === '' ? null : content) };
}

function textsOf(query: unknown): Record<string, string> {
  if (typeof query !== 'object' || query === null) return {};
  return Object.fromEntries(Object.entries(query).map(([name, value]) => [name, String(value)]));
}

export const callFunction = defineCreate({
  key: 'call_function',
  noun: 'Function',
  display: { label: 'Call Function', description: 'Calls a function and returns its response.' },
  operation: {
    inputFields: [
      {
        key: 'path',
        label: 'Path',
        type: 'string',
        required: true,
        helpText: 'The path of the function, without `/fn`, such as `invoice/7/total`.',
      },
      { key: 'method', label: 'Method', type: 'string', required: false, default: 'POST', choices: [...METHODS] },
      {
        key: 'body',
        label: 'Body (JSON)',
        type: 'text',
        required: false,
        helpText: 'The input of the function, such as `{"factor":2}`. Not sent with GET.',
      },
      { key: 'query', label: 'Query Parameters', dict: true, required: false },
      IDEMPOTENCY_FIELD,
    ],
    outputFields: [{ key: 'status', label: 'Status', type: 'integer' }],
    perform,
    sample: { status: 200, result: { total: 24 } },
  },
});
