/**
 * Checks requests and responses against Svix's published OpenAPI document (svix-openapi.json, which names its source).
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

export interface Requested {
  readonly method: string;
  readonly url: URL;
  readonly headers: Readonly<Record<string, unknown>>;
  /** Undefined for none. */
  readonly body: unknown;
}

/** The content of a request. */
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
/** A stopped or overloaded server, or a proxy before it, responds with what no document describes. */
const UNDECLARED = 500;

const ajv = new Ajv({ strict: false, allErrors: true });
ajv.addFormat('date-time', (text: string) => /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(text));
ajv.addFormat('uri', (text: string) => URL.canParse(text));
ajv.addFormat('uint16', { type: 'number', validate: (n: number) => n >= 0 && n < 2 ** 16 });
for (const format of ['int16', 'int64', 'uint32', 'uint64']) ajv.addFormat(format, true);
ajv.addSchema(DOCUMENT, 'svix');

const validators = new Map<object, ValidateFunction>();

/** What is wrong with a value. */
function issuesOf(schema: object, value: unknown, what: string): string[] {
  let validate = validators.get(schema);
  if (validate === undefined) {
    // References are within the document.
    validate = ajv.compile(JSON.parse(JSON.stringify(schema).replaceAll('"#/components', '"svix#/components')));
    validators.set(schema, validate);
  }
  if (validate(value)) return [];
  return [`${what}: ${ajv.errorsText(validate.errors)} in ${JSON.stringify(value)?.slice(0, 300)}`];
}

export class SvixOpenApi {
  /** All deviations from the document. */
  readonly issues: string[] = [];
  /** The requested operations. */
  readonly seen = new Set<string>();

  /** Finds the operation of a request and checks the request. @returns null when there is none */
  request(requested: Requested): Matched | null {
    const matched = match(requested);
    const name = `${requested.method} ${requested.url.pathname}`;
    if (matched === null) {
      this.issues.push(`${name} is no operation`);
      return null;
    }
    const { operation, path } = matched;
    this.seen.add(operation.operationId);
    const { parameters = [], requestBody } = operation;
    const given = { path, query: Object.fromEntries(requested.url.searchParams), header: requested.headers };
    for (const { in: where, name: key, required = false, schema } of parameters) {
      const value = given[where][key];
      if (value === undefined && required) this.issues.push(`${name} has no ${key}`);
      if (value !== undefined) this.issues.push(...issuesOf(schema, typed(value, schema.type), `${name} ${key}`));
    }
    const known = (where: string, key: string) => parameters.some((one) => one.in === where && one.name === key);
    for (const key of Object.keys(given.query)) if (!known('query', key)) this.issues.push(`${name} has ${key}`);
    for (const key of Object.keys(requested.headers)) {
      if (!KNOWN_FIELDS.test(key) && !known('header', key)) this.issues.push(`${name} has the header ${key}`);
    }
    const schema = requestBody?.content?.['application/json'].schema;
    if ((schema === undefined) !== (requested.body === undefined)) this.issues.push(`${name}: body`);
    if (schema !== undefined && requested.body !== undefined)
      this.issues.push(...issuesOf(schema, requested.body, name));
    return matched;
  }

  /** Checks a response. */
  response({ operation }: Matched, status: number, body: unknown): void {
    if (status >= UNDECLARED) return;
    const declared = operation.responses[status];
    const name = `${operation.operationId} ${status}`;
    if (declared === undefined) {
      this.issues.push(`${name} is not declared`);
      return;
    }
    const schema = declared.content?.['application/json'].schema;
    if (schema !== undefined) this.issues.push(...issuesOf(schema, body, name));
  }
}

function match({ method, url }: Requested): Matched | null {
  const parts = url.pathname.split('/');
  for (const [template, operations] of Object.entries<Record<string, Operation>>(DOCUMENT.paths)) {
    const requested = template.split('/');
    const operation = operations[method.toLowerCase()];
    if (operation === undefined || requested.length !== parts.length) continue;
    const path: Record<string, string> = {};
    const fits = requested.every((part, n) => {
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
