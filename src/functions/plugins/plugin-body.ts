/** The bodies of requests that change plugins: their schemas, and reading an uploaded plugin. */
import Type from 'typebox';
import { matchingSystemTypes } from '../../events/read/type-patterns.ts';
import { MillraceError } from '../../lib/errors.ts';
import { SYSTEM_EVENT_TYPES } from '../../lib/event-types.ts';
import { validateBody } from '../../lib/parse-body.ts';
import { nullable } from '../../openapi/schema.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import { compileAndCheck } from './compile/compile.ts';
import { MANIFEST_SCHEMA, type Manifest } from './manifest/manifest.ts';
import { readManifest } from './manifest/manifest-rules.ts';
import { invalidPluginError, type ManifestDiagnostic } from './manifest/plugin-error.ts';
import { MAX_PLUGIN_SCRIPTS } from './manifest/script-validation.ts';
import type { PluginVersionFile } from './store/version-store.ts';
import { entryScriptsOf } from './validate-plugin.ts';

const closed = { additionalProperties: false } as const;

const FILES = Type.Unsafe<Readonly<Record<string, string>>>({
  type: 'object',
  additionalProperties: { type: 'string' },
  description: `The scripts by path, such as \`lib/tax.ts\`: at most ${MAX_PLUGIN_SCRIPTS}, and 1 MB in total.`,
});
const NOTE = Type.Optional(nullable(Type.String({ maxLength: 500, description: 'A description of the change.' })));

/** The body of `PUT`, for the OpenAPI document. */
export const PLUGIN_BODY = Type.Object({ manifest: MANIFEST_SCHEMA, files: FILES, note: NOTE }, closed);

/** The schema that is checked first: errors in the manifest are reported as errors of the plugin. */
const SENT = Type.Object({ manifest: Type.Unknown(), files: FILES, note: NOTE }, closed);

export const PLUGIN_PATCH = Type.Object({ enabled: Type.Boolean() }, closed);

export const SECRET_BODY = Type.Object(
  { value: Type.String({ minLength: 1, maxLength: 8_192, description: 'The secret. No response contains it.' }) },
  closed,
);

/** An uploaded plugin, and what is stored of it. */
export interface PluginUpload {
  readonly manifest: Manifest;
  readonly files: readonly PluginVersionFile[];
  /** Id of its bundle. */
  readonly bundle: string;
  readonly note: string | null;
}

/**
 * Reads an uploaded plugin.
 * @param name the name in the URL
 * @param readsUsers whether the caller may read users
 * @param sandbox null where functions are disabled: then scripts are parsed, but not checked
 * @throws MillraceError `body-required`, `invalid-body`, `invalid-plugin` with locations, `forbidden` for triggers for user
 * events
 */
export async function readUploadedPlugin(
  body: unknown,
  { name, readsUsers, sandbox }: { name: string; readsUsers: boolean; sandbox: Pick<Sandbox, 'check'> | null },
): Promise<PluginUpload> {
  const { manifest: written, files: sent, note: log = null } = validateBody(SENT, body);
  const read = await readManifest(written, name);
  if ('diagnostics' in read) throw invalidPluginError(read.diagnostics);
  const { manifest } = read;
  const texts = new Map(Object.entries(sent));
  const lacking = manifest.functions.flatMap(({ file }, index) =>
    texts.has(file) ? [] : [{ pointer: `/functions/${index}/file`, message: `There is no file '${file}'` }],
  );
  if (lacking.length > 0) throw invalidPluginError(lacking);
  if (!readsUsers) rejectUsers(manifest);
  const compiled = await compileAndCheck(texts, entryScriptsOf(manifest), sandbox);
  if ('diagnostics' in compiled) throw invalidPluginError(compiled.diagnostics);
  const { id: bundle, files: code } = compiled.bundle;
  const files = [...texts].map(([path, text]) => {
    const stripped = code.get(path) ?? text;
    return { path, text, code: stripped === text ? null : stripped };
  });
  return { manifest, files, bundle, note: log };
}

function rejectUsers(manifest: Manifest): void {
  const triggers = userTriggerDiagnostics(manifest);
  const [first] = triggers;
  if (first === undefined) return;
  throw new MillraceError('forbidden', `A trigger is not allowed: ${first.message}`, {
    issues: triggers.map(({ pointer, message: detail }) => ({
      pointer: `/manifest${pointer}`,
      code: 'forbidden',
      detail,
    })),
  });
}

function userTriggerDiagnostics({ functions }: Manifest): readonly ManifestDiagnostic[] {
  return functions.flatMap(({ on = [] }, index) =>
    on.flatMap((pattern, at) => {
      const types = pattern.startsWith('system.') ? matchingSystemTypes(pattern) : [];
      const isUserEvent = types.length > 0 && types.every((type) => SYSTEM_EVENT_TYPES.get(type) === '_admin:accounts');
      const message = `'${pattern}' requires permission to read users, which you do not have`;
      return isUserEvent ? [{ pointer: `/functions/${index}/on/${at}`, message }] : [];
    }),
  );
}
