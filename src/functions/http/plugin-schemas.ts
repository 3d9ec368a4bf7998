/** Response schemas of the plugin routes. */
import Type from 'typebox';
import { DATE_TIME_SCHEMA, namedSchema, nullable } from '../../openapi/schema.ts';
import { PLUGIN_ISOLATIONS } from '../plugins/manifest/manifest.ts';
import { FUNCTION_KINDS } from '../sandbox/sandbox.ts';

const SHOWN_FUNCTION = Type.Object(
  {
    name: Type.String(),
    kind: Type.Unsafe<string>({ type: 'string', enum: [...FUNCTION_KINDS] }),
    route: Type.Optional(
      Type.Object({ methods: Type.Array(Type.String()), path: Type.String() }, { description: 'Of an HTTP function.' }),
    ),
    on: Type.Optional(Type.Array(Type.String(), { description: 'Of a trigger.' })),
    cron: Type.Optional(Type.String({ description: 'Of a cron job.' })),
    timeZone: Type.Optional(Type.String({ description: 'Of a cron job.' })),
    beforeWrite: Type.Optional(
      Type.Object(
        { collections: Type.Array(Type.String()), actions: Type.Array(Type.String()) },
        { description: 'Of a write hook.' },
      ),
    ),
    job: Type.Optional(Type.Literal(true)),
    state: Type.Unsafe<string>({ type: 'string', enum: ['active', 'disabled', 'quarantined', 'invalid'] }),
    error: nullable(Type.String({ description: 'Why it is invalid or quarantined.' })),
    runs: Type.Object({ succeeded: Type.Integer(), failed: Type.Integer(), p95Ms: nullable(Type.Number()) }),
    lastRunAt: nullable(DATE_TIME_SCHEMA),
    nextRunAt: nullable(DATE_TIME_SCHEMA),
  },
  { description: 'A function of a plugin.' },
);

const SHOWN = {
  name: Type.String(),
  source: Type.Unsafe<string>({ type: 'string', enum: ['folder', 'database'] }),
  version: Type.String({ description: 'A number in the database, a hash prefix in a folder.' }),
  enabled: Type.Boolean(),
  isolation: nullable(
    Type.Unsafe<string>({
      type: 'string',
      enum: [...PLUGIN_ISOLATIONS],
      description: 'Whether calls of the active version share contexts (`plugin`) or have one each (`call`).',
    }),
  ),
  diagnostics: Type.Array(Type.String(), {
    description: 'Why the newest version is not active. The previous version is, if there is one.',
  }),
  blockedCollections: Type.Array(Type.String(), {
    description:
      'Collections whose writes are rejected, because an invalid plugin has write hooks for them; `*` for all.',
  }),
  functions: Type.Array(SHOWN_FUNCTION),
};

const WRITTEN = {
  manifest: Type.Unsafe<unknown>({ description: 'The manifest; null if it cannot be read.' }),
  files: Type.Unsafe<unknown>({ type: 'object', additionalProperties: { type: 'string' } }),
};

export const PLUGIN_SHAPE = namedSchema(
  'PluginSummary',
  Type.Object(SHOWN, { description: 'A plugin and its functions.' }),
);

export const PLUGIN_DETAILS_SHAPE = namedSchema(
  'PluginDetails',
  Type.Object(
    {
      ...SHOWN,
      ...WRITTEN,
      secrets: Type.Array(Type.Object({ name: Type.String(), set: Type.Boolean() }), {
        description: 'The secrets that the manifest names.',
      }),
    },
    { description: 'A plugin with its manifest and scripts.' },
  ),
);

const VERSION = {
  version: Type.String({ description: 'A number, as text.' }),
  createdAt: DATE_TIME_SCHEMA,
  createdBy: nullable(Type.String()),
  note: nullable(Type.String()),
};

export const PLUGIN_VERSION_SHAPE = namedSchema(
  'PluginVersion',
  Type.Object(VERSION, { description: 'A version of a plugin, and its author.' }),
);

export const PLUGIN_VERSION_DETAILS_SHAPE = namedSchema(
  'PluginVersionDetails',
  Type.Object({ ...VERSION, ...WRITTEN }, { description: 'A version of a plugin with its manifest and scripts.' }),
);
