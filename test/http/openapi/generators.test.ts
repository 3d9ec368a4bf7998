/**
 * What generators of clients need of the contract: names that no language reserves and that stay apart, a type for every
 * schema, parameters and errors that are written once.
 */
import t from 'tap';
import { UniqueTypeNames } from '../../../src/http/openapi/components.ts';
import { normalizeSchema } from '../../../src/http/openapi/normalize-schema.ts';
import { ERRORS } from '../../../src/lib/errors.ts';
import { buildTestApp } from '../../helpers/app.ts';

type Schema = Readonly<Record<string, unknown>>;

interface OpenApiOperation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly parameters?: readonly { readonly $ref: string }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> };
  readonly responses: Readonly<Record<string, Schema>>;
}

interface OpenApiDocument {
  readonly tags: readonly { readonly name: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, OpenApiOperation>>>>;
  readonly components: Readonly<
    Record<'schemas' | 'parameters' | 'responses' | 'headers', Readonly<Record<string, Schema>>>
  >;
}

/** Keywords of C#, Dart, Go, Java, JavaScript, Kotlin, PHP, Python, Ruby, Rust and Swift. */
const KEYWORDS = new Set(
  (
    'abstract alias and arguments as assert associatedtype async auto await base begin bool boolean break byte case catch char checked ' +
    'chan class clone const continue crate debugger declare decimal def default defer deinit del delegate delete do double dyn echo ' +
    'elif else elseif empty end ensure enum eval event except explicit export extends extension extern fallthrough false fileprivate ' +
    'final finally fixed float fn for foreach from func function global go goto guard if impl implements implicit import in ' +
    'init inout instanceof int interface internal is isset lambda let lock long loop macro map match mod module move mut namespace ' +
    'native new next nil none nonlocal not null object open operator or out override package params pass priv private protocol ' +
    'protected public pub raise range readonly ref register rescue return sbyte sealed select self short sizeof static string strictfp ' +
    'struct subscript super switch synchronized template this throw throws trait transient true try type typealias typedef typeof ' +
    'uint ulong unchecked undef union unless unsafe unset until use using var virtual void volatile when where while with yield'
  ).split(' '),
);

/** Types that Go, Java, Python, Rust and Swift have without an import, or that every program of theirs imports. */
const TYPES = new Set(
  (
    'Any ApiClient ApiException ApiResponse Array Boolean Byte Character Class Client Collection Configuration Date Dict Double Enum ' +
    'Error Exception File Float Integer Iterable JSON List Long Map Module None Number Object Optional Option Package Process Record ' +
    'Response Result Request Self Set Short String System Thread Tuple Type Union Unset Void Vec Box'
  ).split(' '),
);

/** What generators put before or behind a name. */
const AFFIXES = /^(?:New|Get|Api)(?=[A-Z])|(?<=.)(?:Request|Response)$/g;

const { app } = await buildTestApp(t);
for (const [collection, document] of [
  ['todos', { title: 'A', stars: 4, mixed: 1, nested: { list: [1, 'a', null] }, nothing: null }],
  ['todos', { mixed: { a: 1 } }],
  ['newTodos', {}],
  ['order_lines', {}],
  ['order-lines', {}],
  ['files', {}],
  ['stored', {}],
] as const) {
  await app.inject({ method: 'POST', url: `/api/${collection}`, payload: document });
}
const openApi: OpenApiDocument = (await app.inject('/openapi.json')).json();
const { schemas, parameters, responses } = openApi.components;
const operations = Object.values(openApi.paths).flatMap((methods) => Object.values(methods));

t.test('names of schemas stay apart, and no language has them', async (t) => {
  const bare = Object.keys(schemas).map((name) => name.replaceAll(AFFIXES, '').toLowerCase());
  t.strictSame([...new Set(bare)], bare, 'also with New, Get, Api, Request or Response');
  for (const name of Object.keys(schemas)) {
    t.match(name, /^[A-Z][A-Za-z0-9]*$/);
    t.notOk(TYPES.has(name) || KEYWORDS.has(name.toLowerCase()), name);
  }
});

t.test('collections have names of their own, whatever they are called', async (t) => {
  const names = Object.keys(schemas).filter((name) => name.endsWith('Document'));
  t.strictSame(names.sort(), [
    'FilesDocument',
    'NewTodos2Document',
    'OrderLines2Document',
    'OrderLinesDocument',
    'Stored2Document',
    'StoredDocument',
    'TodosDocument',
  ]);
  const titles = new UniqueTypeNames('Stored');
  t.strictSame(
    ['Todos', 'NewTodos', 'APIs', 'TODOS', 'Stored', 'Newton'].map((title) => titles.unique(title)),
    ['Todos', 'NewTodos2', 'APIs', 'TODOS3', 'Stored2', 'Newton'],
  );
});

t.test('operations have names of methods, each of its own', async (t) => {
  const ids = operations.map(({ operationId }) => operationId);
  t.equal(new Set(ids.map((id) => id.toLowerCase())).size, ids.length);
  for (const id of ids) {
    t.match(id, /^[a-z]+(?:[A-Z0-9][a-z0-9]*)*$/, id);
    t.notOk(KEYWORDS.has(id), id);
  }
  for (const id of ['listTodosDocuments', 'createTodosDocument', 'updateDocument', 'uploadFile', 'sendMagicLink']) {
    t.ok(ids.includes(id), id);
  }
});

t.test('each parameter has one meaning, a schema, and no name that is a keyword', async (t) => {
  for (const [component, { name, schema, content }] of Object.entries(parameters)) {
    t.match(component, /^(?:[A-Z][a-z0-9A-Z]*)Parameter$/);
    t.notOk(KEYWORDS.has(String(name)), `${component}: ${name}`);
    t.type(schema, 'object', component);
    t.equal(content, undefined, component);
  }
  for (const { operationId, parameters: own = [] } of operations) {
    const names = own.map(({ $ref }) => String(parameters[nameOf($ref)]?.['name']).toLowerCase());
    t.equal(new Set(names).size, names.length, `${operationId} has ${names.join()}`);
  }
});

t.test('every schema has a type, and so has every branch', async (t) => {
  for (const [name, schema] of Object.entries(schemas)) t.strictSame(untyped(schema), [], name);
  for (const [name, { schema }] of Object.entries(parameters)) t.strictSame(untyped(schema as Schema), [], name);
  for (const { operationId, requestBody, responses: own } of operations) {
    const bodies = [requestBody ?? {}, ...Object.values(own)].flatMap((one) => Object.values(one['content'] ?? {}));
    for (const { schema } of bodies) t.strictSame(untyped(schema), [], operationId);
  }
});

t.test('all errors have one schema, with their codes in the description', async (t) => {
  t.strictSame(schemas['ErrorCode']?.['enum'], Object.keys(ERRORS));
  t.match(schemas['Problem'], { type: 'object', properties: { code: { $ref: '#/components/schemas/ErrorCode' } } });
  for (const [name, response] of Object.entries(responses)) {
    t.match(name, /^Problem[45]\d\d(?:-\d+)?$/);
    t.strictSame(response['content'], {
      'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } },
    });
    const codes = response['x-error-codes'] as readonly string[];
    const lines = codes.map((code) => `\`${code}\`: ${ERRORS[code as keyof typeof ERRORS].title}.`);
    t.equal(response['description'], lines.join('\n'));
  }
  for (const { operationId, responses: own } of operations) {
    for (const [status, { $ref }] of Object.entries(own)) {
      if (Number(status) >= 400) t.match($ref, new RegExp(`/Problem${status}(?:-\\d+)?$`), operationId);
    }
  }
});

t.test('a part has the operations with some tags, and what they refer to', async (t) => {
  const part = async (tags: string): Promise<OpenApiDocument> =>
    (await app.inject(`/openapi.json?tags=${tags}`)).json();
  const three = await part('documents,files,auth');
  const idsOf = (one: OpenApiDocument) =>
    Object.values(one.paths).flatMap((methods) => Object.values(methods).map(({ operationId }) => operationId));
  for (const id of ['listDocuments', 'listTodosDocuments', 'uploadFile', 'login']) t.ok(idsOf(three).includes(id), id);
  t.notOk(idsOf(three).some((id) => /Webhook|Policies|Plugin/.test(id)));
  t.ok(Object.keys(three.components.schemas).length < Object.keys(schemas).length);
  t.strictSame(references(three), existing(three), 'no component is missing, none is left over');
  t.strictSame(references(openApi), existing(openApi), 'nor in the whole');
  t.strictSame(
    (await part('documents/todos')).tags.map(({ name }) => name),
    ['documents/todos'],
  );
  for (const [query, code] of [
    ['tags=documents,nothing', 'invalid-parameter'],
    ['tags=document', 'invalid-parameter'],
    ['tags=', 'invalid-parameter'],
    ['tags=files&tags=auth', 'invalid-parameter'],
    ['tag=files', 'unknown-parameter'],
  ]) {
    t.match((await app.inject(`/openapi.json?${query}`)).json(), { status: 400, code }, String(query));
  }
});

t.test('a schema is written with the types that it accepts', async (t) => {
  const written = (schema: object): object => normalizeSchema(schema, written);
  const text = { type: 'string', description: 'A text.' };
  for (const [schema, expected] of [
    [{ anyOf: [text, { type: 'null' }] }, { ...text, type: ['string', 'null'] }],
    [{ anyOf: [{ enum: ['a'] }, { type: 'null' }] }, { type: ['string', 'null'], enum: ['a', null] }],
    [
      { anyOf: [{ anyOf: [text, { type: 'number' }] }, { type: 'null' }] },
      { anyOf: [text, { type: 'number', format: 'double' }, { type: 'null' }] },
    ],
    [{ anyOf: [{ $ref: '#/x' }, { type: 'null' }] }, { anyOf: [{ $ref: '#/x' }, { type: 'null' }] }],
    [
      { type: 'integer', maximum: 9 },
      { type: 'integer', maximum: 9 },
    ],
    [{ type: ['integer', 'null'] }, { type: ['integer', 'null'], format: 'int64' }],
    [{ const: true }, { type: 'boolean', description: 'Always `true`.' }],
    [
      { type: 'object', patternProperties: { '^.*$': text } },
      { type: 'object', additionalProperties: text },
    ],
    [
      {
        type: ['string', 'object', 'null'],
        format: 'date-time',
        properties: { const: { const: 1 } },
        description: 'D',
      },
      {
        description: 'D',
        anyOf: [
          { type: 'string', format: 'date-time' },
          { type: 'object', properties: { const: { type: 'number', enum: [1], format: 'double' } } },
          { type: 'null' },
        ],
      },
    ],
  ] as const) {
    t.strictSame(written(schema), expected);
  }
});

function nameOf(reference: string): string {
  return reference.split('/').at(-1) ?? '';
}

/**
 * Where a schema has neither a type, nor a reference, nor branches that have one. A schema that only describes stands for any
 * JSON, which is possible everywhere but in a branch.
 */
function untyped(schema: Schema, at = '', isBranch = false): readonly string[] {
  if (!isBranch && Object.keys(schema).every((key) => key === 'description')) return [];
  const inner = ['items', 'additionalProperties', 'not', 'propertyNames'].map((key): [string, unknown] => [
    key,
    schema[key],
  ]);
  for (const key of ['properties', 'patternProperties']) inner.push(...Object.entries(schema[key] ?? {}));
  const branches = ['anyOf', 'oneOf', 'allOf'].flatMap((key) => (schema[key] as readonly Schema[] | undefined) ?? []);
  const has = branches.length > 0 || schema['type'] !== undefined || schema['$ref'] !== undefined;
  return [
    ...(has ? [] : [at]),
    ...branches.flatMap((one, n) => untyped(one, `${at}/branch ${n}`, true)),
    ...inner.flatMap(([key, one]) =>
      typeof one === 'object' && one !== null ? untyped(one as Schema, `${at}/${key}`) : [],
    ),
  ];
}

/** All components that a document refers to, in order. */
function references(document: OpenApiDocument): readonly string[] {
  return [...new Set(JSON.stringify(document).match(/#\/components\/[a-z]+\/[\w-]+/gi))].sort();
}

/** All components of a document, in order. */
function existing({ components }: OpenApiDocument): readonly string[] {
  return (['schemas', 'parameters', 'responses', 'headers'] as const)
    .flatMap((kind) => Object.keys(components[kind]).map((name) => `#/components/${kind}/${name}`))
    .sort();
}
