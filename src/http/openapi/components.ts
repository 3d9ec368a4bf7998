/**
 * Writes what operations share only once: shapes, parameters and refusals become components, and operations refer to
 * them. Otherwise a server with many collections would repeat every refusal for each of them. Pure.
 */
import type { Parameter } from '../../contract/parameters.ts';
import { shapeName } from '../../contract/schema.ts';

export interface Reference {
  readonly $ref: string;
}

export class Components {
  readonly schemas: Record<string, object> = {};
  readonly parameters: Record<string, object> = {};
  readonly responses: Record<string, object> = {};
  /** The object that each name of `schemas` stands for. */
  readonly #shapes = new Map<string, object>();
  readonly #references = new Map<string, Reference>();
  /** Most parameters are the very same object, and comparing identity is cheaper than comparing content. */
  readonly #known = new Map<Parameter, Reference>();

  /**
   * The schema with references in place of the shapes in it.
   * @throws Error when two different shapes have one name
   */
  schema(value: object): object {
    const name = shapeName(value);
    if (name === undefined) return this.#members(value);
    const known = this.#shapes.get(name);
    if (known !== undefined && known !== value) throw new Error(`Two shapes are named '${name}'`);
    if (known === undefined) {
      this.#shapes.set(name, value);
      this.schemas[name] = this.#members(value);
    }
    return { $ref: `#/components/schemas/${name}` };
  }

  parameter(one: Parameter): Reference {
    const known = this.#known.get(one);
    if (known !== undefined) return known;
    const reference = this.#refer('parameters', `${one.in}.${one.name}`, JSON.stringify(one), () => one);
    this.#known.set(one, reference);
    return reference;
  }

  /**
   * @param key the same for equal responses
   * @param make called for the first of them
   */
  response(name: string, key: string, make: () => object): Reference {
    return this.#refer('responses', name, key, make);
  }

  #members(value: object): object {
    const inner = (one: unknown): unknown => (typeof one === 'object' && one !== null ? this.schema(one) : one);
    if (Array.isArray(value)) return value.map(inner);
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, inner(one)]));
  }

  /** A reference to the object, under `name` or a numbered form of it. */
  #refer(kind: 'parameters' | 'responses', name: string, key: string, make: () => object): Reference {
    const known = this.#references.get(`${kind} ${key}`);
    if (known !== undefined) return known;
    let free = name;
    for (let number = 2; free in this[kind]; number++) free = `${name}-${number}`;
    this[kind][free] = make();
    const reference = { $ref: `#/components/${kind}/${free}` };
    this.#references.set(`${kind} ${key}`, reference);
    return reference;
  }
}
