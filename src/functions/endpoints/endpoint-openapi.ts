/**
 * OpenAPI operations of the active HTTP functions: path, method and path parameters. Bodies are defined by the code.
 * Pure; computed once per change of the plugins.
 */
import type { ErrorCode } from '../../lib/errors.ts';
import type { Operation } from '../../openapi/operation.ts';
import { pathParameter } from '../../openapi/parameters.ts';
import { pascalCase } from '../../openapi/schema.ts';
import { type Endpoint, splitPath } from './endpoint-table.ts';

/** One method of one HTTP function. */
export interface EndpointOperation {
  readonly plugin: string;
  /** In lower case. */
  readonly method: string;
  /** With parameters in braces: `/fn/invoice/{id}/total`. */
  readonly path: string;
  readonly operation: Operation;
}

const ERRORS: readonly ErrorCode[] = [
  'method-not-allowed',
  'function-failed',
  'function-timeout',
  'function-out-of-memory',
  'function-runtime-restarted',
  'function-quarantined',
  'functions-disabled',
];

const BODY_REFUSALS: readonly ErrorCode[] = [
  'malformed-json',
  'json-too-deep',
  'unsupported-value',
  'request-timeout',
  'body-too-large',
  'unsupported-media-type',
];

const BODY = {
  'application/json': {},
  'text/plain': { type: 'string' },
  'application/x-www-form-urlencoded': { type: 'object' },
} as const;

const ANYTHING = 'The value that the function returns; the function may also set another status and media type.';

const known = new WeakMap<readonly Endpoint[], readonly EndpointOperation[]>();

/** @param endpoints the same array gets the same operations */
export function endpointOperations(endpoints: readonly Endpoint[]): readonly EndpointOperation[] {
  const before = known.get(endpoints);
  if (before !== undefined) return before;
  const created = endpoints.flatMap(operationsOf);
  known.set(endpoints, created);
  return created;
}

function operationsOf(fn: Endpoint): readonly EndpointOperation[] {
  const { methods, path } = fn.options;
  const names = splitPath(path).flatMap((segment) => (segment.startsWith(':') ? [segment.slice(1)] : []));
  const parameters = names.map((name) =>
    pathParameter(name, 'A part of the path.', { type: 'string', minLength: 1 }, `path-part-${name}`),
  );
  return methods.map((method) => {
    const takesBody = method !== 'GET';
    const id = `call${pascalCase(fn.plugin.name)}${pascalCase(fn.name)}`;
    return {
      plugin: fn.plugin.name,
      method: method.toLowerCase(),
      path: `/fn${path.replace(/:(\w+)/g, '{$1}')}`,
      operation: {
        id: methods.length === 1 ? id : `${id}By${pascalCase(method.toLowerCase())}`,
        tag: 'functions',
        summary: `The function ${fn.name} of the plugin ${fn.plugin.name}`,
        parameters,
        ...(takesBody ? { body: BODY, bodyOptional: true } : {}),
        responses: {
          200: { description: ANYTHING, content: { 'application/json': {} }, headers: ['Millrace-Run'] },
          204: { description: 'The function gave nothing back.', headers: ['Millrace-Run'] },
        },
        errors: takesBody ? [...ERRORS, ...BODY_REFUSALS] : ERRORS,
      },
    };
  });
}
