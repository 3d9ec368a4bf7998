/** What the routes of plugins answer with, as the contract describes it. Not here: what they take (plugins/plugin-body.ts). */
import Type from 'typebox';
import { nullable, shape, TIME } from '../../contract/schema.ts';
import { FUNCTION_KINDS } from '../sandbox/sandbox.ts';

const SHOWN_FUNCTION = Type.Object(
  {
    name: Type.String(),
    kind: Type.Unsafe<string>({ type: 'string', enum: [...FUNCTION_KINDS] }),
    route: Type.Optional(
      Type.Object({ methods: Type.Array(Type.String()), path: Type.String() }, { description: 'Of an endpoint.' }),
    ),
    on: Type.Optional(Type.Array(Type.String(), { description: 'Of a trigger.' })),
    cron: Type.Optional(Type.String({ description: 'Of a cron.' })),
    timeZone: Type.Optional(Type.String({ description: 'Of a cron.' })),
    before: Type.Optional(
      Type.Object(
        { collections: Type.Array(Type.String()), actions: Type.Array(Type.String()) },
        { description: 'Of a before.' },
      ),
    ),
    job: Type.Optional(Type.Literal(true)),
    state: Type.Unsafe<string>({ type: 'string', enum: ['active', 'disabled', 'quarantined', 'invalid'] }),
    error: nullable(Type.String({ description: 'Why it is invalid or in quarantine.' })),
    runs: Type.Object({ ok: Type.Integer(), failed: Type.Integer(), p95Ms: nullable(Type.Number()) }),
    lastRunAt: nullable(TIME),
    nextRunAt: nullable(TIME),
  },
  { description: 'A function of a plugin.' },
);

const SHOWN = {
  name: Type.String(),
  from: Type.Unsafe<string>({ type: 'string', enum: ['folder', 'database'] }),
  version: Type.String({ description: 'A number in the database, and a part of a hash in a folder.' }),
  enabled: Type.Boolean(),
  faults: Type.Array(Type.String(), {
    description: 'Why the newest version is not in force. The version before is, if there was one.',
  }),
  blockedCollections: Type.Array(Type.String(), {
    description:
      'Collections whose writes are refused, because the plugin would have to check them and has faults; `*` for all.',
  }),
  functions: Type.Array(SHOWN_FUNCTION),
};

const WRITTEN = {
  manifest: Type.Unsafe<unknown>({ description: 'The manifest; null where it cannot be read.' }),
  files: Type.Unsafe<unknown>({ type: 'object', additionalProperties: { type: 'string' } }),
};

export const PLUGIN_SHAPE = shape('Plugin', Type.Object(SHOWN, { description: 'A plugin and its functions.' }));

export const WHOLE_PLUGIN_SHAPE = shape(
  'WholePlugin',
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
  at: TIME,
  by: nullable(Type.String()),
  note: nullable(Type.String()),
};

export const PLUGIN_VERSION_SHAPE = shape(
  'PluginVersion',
  Type.Object(VERSION, { description: 'A version of a plugin, and who stored it.' }),
);

export const WHOLE_VERSION_SHAPE = shape(
  'WholePluginVersion',
  Type.Object({ ...VERSION, ...WRITTEN }, { description: 'A version of a plugin with its manifest and scripts.' }),
);
