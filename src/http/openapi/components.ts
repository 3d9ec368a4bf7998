/**
 * Deduplicates what operations share: schemas, parameters and errors become components, and operations reference them.
 * Otherwise a server with many collections would repeat every error for each of them. Pure.
 */
import { RESPONSE_HEADERS, type ResponseHeaderName } from '../../openapi/headers.ts';
import type { Parameter } from '../../openapi/parameters.ts';
import { pascalCase, schemaName } from '../../openapi/schema.ts';
import { normalizeSchema } from './normalize-schema.ts';

export interface OpenApiReference {
  readonly $ref: string;
}

export class OpenApiComponents {
  readonly schemas: Record<string, object> = {};
  readonly parameters: Record<string, object> = {};
  readonly responses: Record<string, object> = {};
  readonly headers: Record<string, object> = {};
  /** The object that each name of `schemas` stands for. */
  readonly #shapes = new Map<string, object>();
  readonly #references = new Map<string, OpenApiReference>();
  /** Most parameters are the very same object, and comparing identity is cheaper than comparing content. */
  readonly #known = new Map<Parameter, OpenApiReference>();

  /**
   * The schema, typed throughout, with references in place of the shapes in it.
   * @throws Error when two different shapes have one name
   */
  schema(value: object): object {
    const name = schemaName(value);
    if (name === undefined) return normalizeSchema(value, (inner) => this.schema(inner));
    const known = this.#shapes.get(name);
    if (known !== undefined && known !== value) throw new Error(`Two schemas are named '${name}'`);
    if (known === undefined) {
      this.#shapes.set(name, value);
      this.schemas[name] = normalizeSchema(value, (inner) => this.schema(inner));
    }
    return { $ref: `#/components/schemas/${name}` };
  }

  parameter(one: Parameter): OpenApiReference {
    const known = this.#known.get(one);
    if (known !== undefined) return known;
    const { meaning, schema, ...rest } = one;
    const name = `${pascalCase(meaning ?? one.name)}Parameter`;
    const make = () => ({ ...rest, schema: this.schema(schema) });
    const reference = this.#refer('parameters', name, JSON.stringify(one), make);
    this.#known.set(one, reference);
    return reference;
  }

  header(name: ResponseHeaderName): OpenApiReference {
    this.headers[name] = RESPONSE_HEADERS[name];
    return { $ref: `#/components/headers/${name}` };
  }

  /**
   * @param key the same for equal responses
   * @param make called for the first of them
   */
  response(name: string, key: string, make: () => object): OpenApiReference {
    return this.#refer('responses', name, key, make);
  }

  /** A reference to the object, under `name` or a numbered form of it. */
  #refer(kind: 'parameters' | 'responses', name: string, key: string, make: () => object): OpenApiReference {
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

/** Generators put these before the name of a type, to name another type or a function that creates one. */
const PREFIX = /^(?:New|Get|Api)(?=[A-Z0-9])/;

/** Names that clients can use for collections and functions, each apart from all others. */
export class UniqueTypeNames {
  readonly #taken: Set<string>;

  /** @param taken titles that are used for something else */
  constructor(...taken: readonly string[]) {
    this.#taken = new Set(taken.map(bare));
  }

  /** The title itself, or with a number if an earlier one is nearly the same. */
  unique(title: string): string {
    let free = title;
    for (let number = 2; this.#taken.has(bare(free)); number++) free = `${title}${number}`;
    this.#taken.add(bare(free));
    return free;
  }
}

/** Whether generators might name something else so: such titles come last, so that the others stay as they are. */
export function hasCodeGeneratorPrefix(title: string): boolean {
  return PREFIX.test(title);
}

/** What two titles must differ in. Some generators write a file for each type, and file systems may ignore the case. */
function bare(title: string): string {
  return title.replace(PREFIX, '').toLowerCase();
}
