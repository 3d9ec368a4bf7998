/**
 * The endpoints in force as the contract tells them: path, method, parameters of the path. What the code takes and answers is
 * its own matter. Pure; made once for each change of the plugins. Not here: writing the contract (http/openapi).
 */
import type { Operation } from '../../../contract/operation.ts';
import { pathParameter } from '../../../contract/parameters.ts';
import type { ErrorCode } from '../../../kernel/errors.ts';
import { type Endpoint, segmentsOf } from './endpoint-table.ts';

/** One method of one endpoint. */
export interface EndpointOperation {
  readonly plugin: string;
  /** In small letters. */
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
  'functions-off',
];

const BODY_REFUSALS: readonly ErrorCode[] = [
  'malformed-json',
  'too-deep',
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

const ANYTHING = 'Whatever the function gives back; it may also choose another status and media type.';

const known = new WeakMap<readonly Endpoint[], readonly EndpointOperation[]>();

/** @param endpoints the same array gets the same operations */
export function endpointOperations(endpoints: readonly Endpoint[]): readonly EndpointOperation[] {
  const before = known.get(endpoints);
  if (before !== undefined) return before;
  const made = endpoints.flatMap(operationsOf);
  known.set(endpoints, made);
  return made;
}

function operationsOf(fn: Endpoint): readonly EndpointOperation[] {
  const { methods, path } = fn.use;
  const names = segmentsOf(path).flatMap((segment) => (segment.startsWith(':') ? [segment.slice(1)] : []));
  const parameters = names.map((name) => pathParameter(name, 'A part of the path.', { type: 'string', minLength: 1 }));
  return methods.map((method) => {
    const takesBody = method !== 'GET';
    const id = `fn.${fn.plugin.name}.${fn.name}`;
    return {
      plugin: fn.plugin.name,
      method: method.toLowerCase(),
      path: `/fn${path.replace(/:(\w+)/g, '{$1}')}`,
      operation: {
        id: methods.length === 1 ? id : `${id}.${method.toLowerCase()}`,
        tag: 'Functions',
        summary: `The function ${fn.name} of the plugin ${fn.plugin.name}`,
        parameters,
        ...(takesBody ? { body: BODY, bodyOptional: true } : {}),
        answers: {
          200: { description: ANYTHING, content: { 'application/json': {} } },
          204: { description: 'The function gave nothing back.' },
        },
        errors: takesBody ? [...ERRORS, ...BODY_REFUSALS] : ERRORS,
      },
    };
  });
}
