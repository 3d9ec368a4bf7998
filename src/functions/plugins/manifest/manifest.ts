/**
 * The manifest of a plugin, `plugin.json`: one schema for validation, the OpenAPI document and the type. Rules that a schema
 * cannot express are in manifest-rules.ts; the compiled form is in plugin.ts.
 */
import Type, { type Static } from 'typebox';

const closed = { additionalProperties: false } as const;

/** The longest run by kind, in milliseconds; also the default. */
export const MAX_RUN_MS = { http: 10_000, beforeWrite: 3_000, trigger: 60_000, cron: 60_000, job: 60_000 } as const;

/** Methods that an HTTP function may have. The server handles HEAD and OPTIONS. */
export const HTTP_METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

const MAX_FUNCTIONS = 100;
/** Entries of one list of a manifest. */
const MAX_LISTED = 50;

/** The writes that a `beforeWrite` can check. */
export const WRITE_HOOK_ACTIONS = ['create', 'update', 'delete'] as const;

export type WriteHookAction = (typeof WRITE_HOOK_ACTIONS)[number];

/** Whether calls of a plugin share contexts, or have one each. */
export const PLUGIN_ISOLATIONS = ['plugin', 'call'] as const;

export type PluginIsolation = (typeof PLUGIN_ISOLATIONS)[number];

/** All collections in the `beforeWrite` of a function. */
export const EVERY_COLLECTION = '*';

/** Lower-case letters, digits and single hyphens: no two names look alike, and each needs no escape in URLs and file systems. */
export const PLUGIN_NAME_PATTERN = '^[a-z](?:-?[a-z0-9])*$';

const name = (description: string) => Type.String({ pattern: PLUGIN_NAME_PATTERN, maxLength: 40, description });
const names = (one: ReturnType<typeof Type.String>, description: string) =>
  Type.Array(one, { maxItems: MAX_LISTED, uniqueItems: true, description });
const method = Type.Unsafe<(typeof HTTP_METHODS)[number]>({ type: 'string', enum: [...HTTP_METHODS] });
const action = Type.Unsafe<WriteHookAction>({ type: 'string', enum: [...WRITE_HOOK_ACTIONS] });

const MANIFEST_FUNCTION = Type.Object(
  {
    name: name('The name of the function in its plugin.'),
    file: Type.String({
      minLength: 1,
      maxLength: 128,
      description: 'The script whose default export is the function, relative to the plugin folder.',
    }),
    http: Type.Optional(
      Type.Object(
        {
          method: Type.Union([
            method,
            Type.Array(method, { minItems: 1, maxItems: HTTP_METHODS.length, uniqueItems: true }),
          ]),
          path: Type.String({
            minLength: 2,
            maxLength: 200,
            description: 'Below `/fn`, with `:name` for parameters: `/invoice/:id/total`.',
          }),
        },
        { ...closed, description: 'An HTTP function: it handles requests.' },
      ),
    ),
    on: Type.Optional(
      Type.Array(Type.String({ minLength: 1, maxLength: 256 }), {
        minItems: 1,
        maxItems: MAX_LISTED,
        uniqueItems: true,
        description: 'A trigger: event types; `*` is a wildcard.',
      }),
    ),
    filter: Type.Optional(
      Type.Object(
        {},
        {
          additionalProperties: true,
          description:
            'Of a trigger: a filter of the query language, applied to the document before and after the change.',
        },
      ),
    ),
    cron: Type.Optional(
      Type.String({ minLength: 9, maxLength: 120, description: 'A cron job: five fields, such as `0 3 * * *`.' }),
    ),
    timeZone: Type.Optional(
      Type.String({ minLength: 1, maxLength: 60, default: 'UTC', description: 'Of a cron job: `Europe/Berlin`.' }),
    ),
    beforeWrite: Type.Optional(
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
            'A write hook: runs before each write of the API to these collections, or to all (`*`). Without `actions`: for all actions.',
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
          'Of an HTTP function. `own`: the code receives the header `Authorization`, and callers are anonymous. By default it authenticates callers of this server.',
      }),
    ),
    largeNumbers: Type.Optional(
      Type.Unsafe<'reject' | 'string'>({
        type: 'string',
        enum: ['reject', 'string'],
        default: 'reject',
        description:
          'Of an HTTP function: how JSON numbers that JavaScript cannot represent exactly are passed. `text`: as texts in `body`.',
      }),
    ),
    as: Type.Optional(
      Type.Unsafe<'caller' | 'function'>({
        type: 'string',
        enum: ['caller', 'function'],
        description:
          'The principal of the function. `caller`, the default for HTTP functions and write hooks: the calling principal. `function`: a ' +
          'principal of its own.',
      }),
    ),
    roles: Type.Optional(
      names(Type.String({ minLength: 1, maxLength: 64 }), 'With `as: function`: its roles, for policies.'),
    ),
    timeoutMs: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: Math.max(...Object.values(MAX_RUN_MS)),
        description:
          'Maximum duration of a run in milliseconds: at most 10,000 of an HTTP function, 3,000 of a write hook, and 60,000 of others.',
      }),
    ),
  },
  { ...closed, description: 'One function. It has exactly one of `http`, `on`, `cron`, `beforeWrite` and `job`.' },
);

export const MANIFEST_SCHEMA = Type.Object(
  {
    $schema: Type.Optional(
      Type.String({ maxLength: 256, description: 'The URL of this schema, for editors; the server ignores it.' }),
    ),
    name: name('The name of the plugin, which is the name of its folder.'),
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
        'Names of the secrets that its functions receive. Their values are set separately.',
      ),
    ),
    isolation: Type.Optional(
      Type.Unsafe<PluginIsolation>({
        type: 'string',
        enum: [...PLUGIN_ISOLATIONS],
        default: 'plugin',
        description:
          'What a call of its functions may see of earlier ones. `plugin`: calls of functions with the same file share contexts, so modules and globals may ' +
          'have the state that an earlier call left. `call`: each call has a new context, which takes more CPU.',
      }),
    ),
  },
  { ...closed, description: 'The manifest of a plugin.' },
);

export type Manifest = Static<typeof MANIFEST_SCHEMA>;

export type ManifestFunction = Static<typeof MANIFEST_FUNCTION>;

/** A plugin as its author wrote it: its manifest, and its scripts by path. */
export interface PluginSource {
  readonly manifest: Manifest;
  readonly files: ReadonlyMap<string, string>;
}
