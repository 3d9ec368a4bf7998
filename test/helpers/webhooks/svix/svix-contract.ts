/**
 * Holds requests and answers against Svix's published OpenAPI document (svix-openapi.json, which names its source). Not here:
 * what Svix does (svix-state.ts).
 */
import { readFileSync } from 'node:fs';
import { Ajv, type ValidateFunction } from 'ajv';

interface Parameter {
  readonly in: 'path' | 'query' | 'header';
  readonly name: string;
  readonly required?: boolean;
  readonly schema: { readonly type?: string };
}

interface Content {
  readonly content?: { readonly 'application/json': { readonly schema: object } };
}

interface Operation {
  readonly operationId: string;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: Content;
  readonly responses: Readonly<Record<string, Content>>;
}

export interface Asked {
  readonly method: string;
  readonly url: URL;
  readonly headers: Readonly<Record<string, unknown>>;
  /** Undefined for none. */
  readonly body: unknown;
}

/** What a request asks for. */
export interface Matched {
  readonly operation: Operation;
  readonly path: Readonly<Record<string, string>>;
}

/** The validator knows no `nullable` beside a reference. */
const withNulls = (_: string, value: unknown) =>
  typeof value === 'object' && value !== null && '$ref' in value && 'nullable' in value
    ? { anyOf: [{ $ref: value.$ref }, { type: 'null' }] }
    : value;
const DOCUMENT = JSON.parse(readFileSync(new URL('svix-openapi.json', import.meta.url), 'utf8'), withNulls);
/** Header fields of HTTP, and those that the package `svix` adds. */
const KNOWN_FIELDS =
  /^(host|connection|accept.*|authorization|user-agent|content-.*|sec-.*|svix-.*|transfer-encoding)$/;
/** A dead or overloaded server, or a proxy before it, answers what no document says. */
const UNDECLARED = 500;

const ajv = new Ajv({ strict: false, allErrors: true });
ajv.addFormat('date-time', (text: string) => /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(text));
ajv.addFormat('uri', (text: string) => URL.canParse(text));
ajv.addFormat('uint16', { type: 'number', validate: (n: number) => n >= 0 && n < 2 ** 16 });
for (const format of ['int16', 'int64', 'uint32', 'uint64']) ajv.addFormat(format, true);
ajv.addSchema(DOCUMENT, 'svix');

const validators = new Map<object, ValidateFunction>();

/** What is wrong with a value. */
function faultsOf(schema: object, value: unknown, what: string): string[] {
  let validate = validators.get(schema);
  if (validate === undefined) {
    // References are within the document.
    validate = ajv.compile(JSON.parse(JSON.stringify(schema).replaceAll('"#/components', '"svix#/components')));
    validators.set(schema, validate);
  }
  if (validate(value)) return [];
  return [`${what}: ${ajv.errorsText(validate.errors)} in ${JSON.stringify(value)?.slice(0, 300)}`];
}

export class SvixContract {
  /** Everything that was not as the document says. */
  readonly faults: string[] = [];
  /** The operations that were asked for. */
  readonly seen = new Set<string>();

  /** Finds the operation of a request and checks the request. @returns null when there is none */
  request(asked: Asked): Matched | null {
    const matched = match(asked);
    const name = `${asked.method} ${asked.url.pathname}`;
    if (matched === null) {
      this.faults.push(`${name} is no operation`);
      return null;
    }
    const { operation, path } = matched;
    this.seen.add(operation.operationId);
    const { parameters = [], requestBody } = operation;
    const given = { path, query: Object.fromEntries(asked.url.searchParams), header: asked.headers };
    for (const { in: where, name: key, required = false, schema } of parameters) {
      const value = given[where][key];
      if (value === undefined && required) this.faults.push(`${name} has no ${key}`);
      if (value !== undefined) this.faults.push(...faultsOf(schema, typed(value, schema.type), `${name} ${key}`));
    }
    const known = (where: string, key: string) => parameters.some((one) => one.in === where && one.name === key);
    for (const key of Object.keys(given.query)) if (!known('query', key)) this.faults.push(`${name} has ${key}`);
    for (const key of Object.keys(asked.headers)) {
      if (!KNOWN_FIELDS.test(key) && !known('header', key)) this.faults.push(`${name} has the header ${key}`);
    }
    const schema = requestBody?.content?.['application/json'].schema;
    if ((schema === undefined) !== (asked.body === undefined)) this.faults.push(`${name}: body`);
    if (schema !== undefined && asked.body !== undefined) this.faults.push(...faultsOf(schema, asked.body, name));
    return matched;
  }

  /** Checks an answer. */
  answer({ operation }: Matched, status: number, body: unknown): void {
    if (status >= UNDECLARED) return;
    const declared = operation.responses[status];
    const name = `${operation.operationId} ${status}`;
    if (declared === undefined) {
      this.faults.push(`${name} is not declared`);
      return;
    }
    const schema = declared.content?.['application/json'].schema;
    if (schema !== undefined) this.faults.push(...faultsOf(schema, body, name));
  }
}

function match({ method, url }: Asked): Matched | null {
  const parts = url.pathname.split('/');
  for (const [template, operations] of Object.entries<Record<string, Operation>>(DOCUMENT.paths)) {
    const wanted = template.split('/');
    const operation = operations[method.toLowerCase()];
    if (operation === undefined || wanted.length !== parts.length) continue;
    const path: Record<string, string> = {};
    const fits = wanted.every((part, n) => {
      const is = decodeURIComponent(parts[n] ?? '');
      if (!part.startsWith('{')) return part === is;
      path[part.slice(1, -1)] = is;
      return is !== '';
    });
    if (fits) return { operation, path };
  }
  return null;
}

function typed(value: unknown, type: string | undefined): unknown {
  if (type === 'integer' && /^-?\d+$/.test(String(value))) return Number(value);
  if (type === 'boolean' && /^(true|false)$/.test(String(value))) return value === 'true';
  return value;
}
