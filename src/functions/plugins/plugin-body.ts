/**
 * The bodies of requests that change plugins: their shapes, and a plugin that was sent, read whole. Not here: where it is stored
 * (plugins.ts).
 */
import Type from 'typebox';
import { nullable } from '../../contract/schema.ts';
import { MillraceError } from '../../kernel/errors.ts';
import { checked } from '../../kernel/parse-body.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import { compileChecked } from './compile/compile.ts';
import { entriesOf } from './looked-plugin.ts';
import { accountTriggers } from './manifest/account-types.ts';
import { MANIFEST, type Manifest } from './manifest/manifest.ts';
import { readManifest } from './manifest/manifest-rules.ts';
import { invalidPlugin } from './manifest/plugin-fault.ts';
import { MAX_SCRIPTS } from './manifest/source.ts';
import type { VersionFile } from './store/version-store.ts';

const closed = { additionalProperties: false } as const;

const FILES = Type.Unsafe<Readonly<Record<string, string>>>({
  type: 'object',
  additionalProperties: { type: 'string' },
  description: `The scripts by path, such as \`lib/tax.ts\`: at most ${MAX_SCRIPTS}, and 1 MB in all.`,
});
const NOTE = Type.Optional(nullable(Type.String({ maxLength: 500, description: 'What is new, for people.' })));

/** The body of `PUT`, as the contract describes it. */
export const PLUGIN_BODY = Type.Object({ manifest: MANIFEST, files: FILES, note: NOTE }, closed);

/** The same as it is checked first: what is wrong with a manifest is told as what is wrong with a plugin. */
const SENT = Type.Object({ manifest: Type.Unknown(), files: FILES, note: NOTE }, closed);

export const PLUGIN_PATCH = Type.Object({ enabled: Type.Boolean() }, closed);

export const SECRET_BODY = Type.Object(
  { value: Type.String({ minLength: 1, maxLength: 8_192, description: 'The secret. No answer shows it.' }) },
  closed,
);

/** A plugin that was sent, and what is stored of it. */
export interface SentPlugin {
  readonly manifest: Manifest;
  readonly files: readonly VersionFile[];
  /** Id of its bundle. */
  readonly bundle: string;
  readonly note: string | null;
}

/**
 * Reads a plugin that was sent.
 * @param name the name in the address
 * @param readsAccounts whether the sender may read accounts
 * @param sandbox null where no function is run: then scripts are not checked further than their types
 * @throws MillraceError `body-required`, `invalid-body`, `invalid-plugin` with the places, `forbidden` for triggers of accounts
 */
export async function readSentPlugin(
  body: unknown,
  { name, readsAccounts, sandbox }: { name: string; readsAccounts: boolean; sandbox: Pick<Sandbox, 'check'> | null },
): Promise<SentPlugin> {
  const { manifest: written, files: sent, note = null } = checked(SENT, body);
  const read = await readManifest(written, name);
  if ('faults' in read) throw invalidPlugin(read.faults);
  const { manifest } = read;
  const texts = new Map(Object.entries(sent));
  const lacking = manifest.functions.flatMap(({ file }, index) =>
    texts.has(file) ? [] : [{ pointer: `/functions/${index}/file`, message: `There is no file '${file}'` }],
  );
  if (lacking.length > 0) throw invalidPlugin(lacking);
  if (!readsAccounts) refuseAccounts(manifest);
  const compiled = await compileChecked(texts, entriesOf(manifest), sandbox);
  if ('faults' in compiled) throw invalidPlugin(compiled.faults);
  const { id: bundle, files: code } = compiled.bundle;
  const files = [...texts].map(([path, text]) => {
    const stripped = code.get(path) ?? text;
    return { path, text, code: stripped === text ? null : stripped };
  });
  return { manifest, files, bundle, note };
}

function refuseAccounts(manifest: Manifest): void {
  const triggers = accountTriggers(manifest);
  const [first] = triggers;
  if (first === undefined) return;
  throw new MillraceError('forbidden', `A trigger is not allowed: ${first.message}`, {
    faults: triggers.map(({ pointer, message: detail }) => ({
      pointer: `/manifest${pointer}`,
      code: 'forbidden',
      detail,
    })),
  });
}
