/**
 * The manifest of a plugin, `plugin.json`, as its author writes it: one schema for the check, the contract and the type. Rules
 * that a schema cannot express are in manifest-rules.ts; what is in force is another form (plugin.ts).
 */
import Type, { type Static } from 'typebox';

const closed = { additionalProperties: false } as const;

/** Milliseconds that a run may take at most, by kind; also what it may take where the manifest says nothing. */
export const MOST_MS = { endpoint: 10_000, before: 3_000, trigger: 60_000, cron: 60_000, job: 60_000 } as const;

/** Methods that an endpoint may have. HEAD and OPTIONS are answered by the server. */
export const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

const MAX_FUNCTIONS = 100;
/** Members of one list of a manifest. */
const MAX_LISTED = 50;

/** The writes that a `before` can see. */
export const BEFORE_ACTIONS = ['create', 'update', 'delete'] as const;

export type BeforeAction = (typeof BEFORE_ACTIONS)[number];

/** Stands for all collections in the `before` of a function. */
export const EVERY_COLLECTION = '*';

/** Small letters, digits and single hyphens: no two names look alike, and each is itself in addresses and file systems. */
export const NAME = '^[a-z](?:-?[a-z0-9])*$';

const name = (description: string) => Type.String({ pattern: NAME, maxLength: 40, description });
const names = (one: ReturnType<typeof Type.String>, description: string) =>
  Type.Array(one, { maxItems: MAX_LISTED, uniqueItems: true, description });
const method = Type.Unsafe<(typeof METHODS)[number]>({ type: 'string', enum: [...METHODS] });
const action = Type.Unsafe<BeforeAction>({ type: 'string', enum: [...BEFORE_ACTIONS] });

const MANIFEST_FUNCTION = Type.Object(
  {
    name: name('The name of the function in its plugin.'),
    file: Type.String({
      minLength: 1,
      maxLength: 128,
      description: 'The script whose default export is the function, from the folder of the plugin.',
    }),
    http: Type.Optional(
      Type.Object(
        {
          method: Type.Union([
            method,
            Type.Array(method, { minItems: 1, maxItems: METHODS.length, uniqueItems: true }),
          ]),
          path: Type.String({
            minLength: 2,
            maxLength: 200,
            description: 'Below `/fn`, with `:name` for parameters: `/invoice/:id/total`.',
          }),
        },
        { ...closed, description: 'An endpoint: the function answers requests.' },
      ),
    ),
    on: Type.Optional(
      Type.Array(Type.String({ minLength: 1, maxLength: 256 }), {
        minItems: 1,
        maxItems: MAX_LISTED,
        uniqueItems: true,
        description: 'A trigger: event types, in which `*` stands for anything.',
      }),
    ),
    filter: Type.Optional(
      Type.Object(
        {},
        {
          additionalProperties: true,
          description:
            'Of a trigger: which documents, as a filter of the query language that both states of a change are asked.',
        },
      ),
    ),
    cron: Type.Optional(
      Type.String({ minLength: 9, maxLength: 120, description: 'A cron: five fields, such as `0 3 * * *`.' }),
    ),
    timeZone: Type.Optional(
      Type.String({ minLength: 1, maxLength: 60, default: 'UTC', description: 'Of a cron: `Europe/Berlin`.' }),
    ),
    before: Type.Optional(
      Type.Object(
        {
          collections: Type.Array(Type.String({ minLength: 1, maxLength: 64 }), {
            minItems: 1,
            maxItems: MAX_LISTED,
            uniqueItems: true,
          }),
          actions: Type.Optional(Type.Array(action, { minItems: 1, maxItems: 3, uniqueItems: true })),
        },
        {
          ...closed,
          description:
            'Sees each write of the API to these collections, or to all (`*`), before it is made. Without `actions`: all of them.',
        },
      ),
    ),
    job: Type.Optional(
      Type.Literal(true, { description: 'A job: run by `ctx.schedule` of another function of the plugin.' }),
    ),
    authorization: Type.Optional(
      Type.Unsafe<'millrace' | 'own'>({
        type: 'string',
        enum: ['millrace', 'own'],
        default: 'millrace',
        description:
          'Of an endpoint. `own`: the header `Authorization` is for the code, and callers are anonymous. Otherwise it signs in here.',
      }),
    ),
    largeNumbers: Type.Optional(
      Type.Unsafe<'refuse' | 'text'>({
        type: 'string',
        enum: ['refuse', 'text'],
        default: 'refuse',
        description:
          'Of an endpoint: what becomes of numbers in a JSON body that JavaScript cannot hold exactly. `text`: `body` has them as texts.',
      }),
    ),
    as: Type.Optional(
      Type.Unsafe<'caller' | 'function'>({
        type: 'string',
        enum: ['caller', 'function'],
        description:
          'As whom it acts. `caller`, for endpoints and before, is their default: as the principal that asked. `function`: as a ' +
          'principal of its own.',
      }),
    ),
    roles: Type.Optional(
      names(Type.String({ minLength: 1, maxLength: 64 }), 'Of `as: function`: its roles, which policies name.'),
    ),
    timeoutMs: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: Math.max(...Object.values(MOST_MS)),
        description:
          'Milliseconds that a run may take: at most 10,000 of an endpoint, 3,000 of a before, and 60,000 of others.',
      }),
    ),
  },
  { ...closed, description: 'One function. It has exactly one of `http`, `on`, `cron`, `before` and `job`.' },
);

export const MANIFEST = Type.Object(
  {
    $schema: Type.Optional(
      Type.String({ maxLength: 256, description: 'Where editors find this schema; the server does not look at it.' }),
    ),
    name: name('The name of the plugin, which is that of its folder.'),
    functions: Type.Array(MANIFEST_FUNCTION, { minItems: 1, maxItems: MAX_FUNCTIONS }),
    fetch: Type.Optional(
      names(
        Type.String({ minLength: 1, maxLength: 261 }),
        'Hosts that its functions may fetch from: `api.example.com`, `*.example.org:8443`.',
      ),
    ),
    secrets: Type.Optional(
      names(
        Type.String({ pattern: '^[A-Z][A-Z0-9_]{0,63}$' }),
        'Names of the secrets that its functions get. Their values are set apart.',
      ),
    ),
  },
  { ...closed, description: 'The manifest of a plugin.' },
);

export type Manifest = Static<typeof MANIFEST>;

export type ManifestFunction = Static<typeof MANIFEST_FUNCTION>;

/** A plugin as it is written: its manifest, and its scripts by path. */
export interface PluginSource {
  readonly manifest: Manifest;
  readonly files: ReadonlyMap<string, string>;
}
