/**
 * Says once what operations have in common: parameters and refusals become components, and operations refer to them. A
 * server with many collections would otherwise repeat every refusal for each of them. Pure.
 */

import type { Paths } from './documents.ts';
import type { Operation } from './operation.ts';

export interface Shared {
  readonly paths: Paths;
  readonly parameters: Readonly<Record<string, object>>;
  readonly responses: Readonly<Record<string, object>>;
}

/** Objects by the name they got; equal ones have one name. */
class Pool {
  readonly byName: Record<string, object> = {};
  readonly #kind: string;
  readonly #names = new Map<string, string>();
  /** Most are the very same object, which costs less to see than equality. */
  readonly #references = new Map<object, { $ref: string }>();

  constructor(kind: string) {
    this.#kind = kind;
  }

  /** A reference to the object, under `name` or a numbered form of it. */
  refer(name: string, value: object): { $ref: string } {
    const before = this.#references.get(value);
    if (before !== undefined) return before;
    const text = JSON.stringify(value);
    let known = this.#names.get(text);
    if (known === undefined) {
      known = name;
      for (let number = 2; known in this.byName; number++) known = `${name}-${number}`;
      this.#names.set(text, known);
      this.byName[known] = value;
    }
    const reference = { $ref: `#/components/${this.#kind}/${known}` };
    this.#references.set(value, reference);
    return reference;
  }
}

export function share(paths: Paths): Shared {
  const parameters = new Pool('parameters');
  const responses = new Pool('responses');
  const shared = (operation: Operation): Operation => ({
    ...operation,
    ...(operation.parameters === undefined
      ? {}
      : { parameters: operation.parameters.map((one) => parameters.refer(nameOf(one), one)) }),
    responses: Object.fromEntries(
      Object.entries(operation.responses).map(([status, answer]) => [
        status,
        Number(status) < 400 ? answer : responses.refer(status, answer),
      ]),
    ),
  });
  const result: Paths = {};
  for (const [path, methods] of Object.entries(paths)) {
    result[path] = Object.fromEntries(Object.entries(methods).map(([method, one]) => [method, shared(one)]));
  }
  return { paths: result, parameters: parameters.byName, responses: responses.byName };
}

function nameOf(parameter: object): string {
  return 'name' in parameter && 'in' in parameter ? `${parameter.in}.${parameter.name}` : 'parameter';
}
