/**
 * `millrace functions push`: stores a folder as a new version of the plugin in the server's database.
 */
import Type from 'typebox';
import { readPlugin } from '../../functions/plugins/folders/read-plugin.ts';
import type { Manifest } from '../../functions/plugins/manifest/manifest.ts';
import { formatDiagnostic } from '../../functions/plugins/manifest/plugin-error.ts';
import { type RemoteServer, type ServerErrorIssue, ServerErrorResponse } from '../remote/remote.ts';
import { displayPath } from './plugin-folder.ts';

const STORED = Type.Object({
  version: Type.String(),
  secrets: Type.Array(Type.Object({ name: Type.String(), set: Type.Boolean() })),
});

/** The content of a folder for upload. */
export interface UnsavedPlugin {
  readonly manifest: Manifest;
  readonly files: Readonly<Record<string, string>>;
}

/**
 * Reads the folder of a plugin.
 * @throws Error with a line per error, `plugins/invoice/total.ts:3:14: …`
 */
export async function readPluginFolder(path: string, name: string): Promise<UnsavedPlugin> {
  const { manifest, files, diagnostics } = await readPlugin(path, name);
  if (manifest === null || diagnostics.length > 0)
    throw new Error(diagnostics.map((issue) => formatDiagnostic(issue, displayPath(path))).join('\n'));
  return { manifest, files: Object.fromEntries(files) };
}

/**
 * Stores it, and prints its version.
 * @throws Error with a line per error that the server found
 */
export async function pushPlugin(
  { path: folder, name }: { readonly path: string; readonly name: string },
  note: string | undefined,
  remote: RemoteServer,
): Promise<true> {
  const draft = await readPluginFolder(folder, name);
  const path = `/admin/plugins/${name}`;
  const body = { ...draft, ...(note !== undefined && { note }) };
  const stored = await remote.request(STORED, 'PUT', path, body).catch((error: unknown) => {
    throw explainPushError(error, folder, name);
  });
  console.log(`${name} is version ${stored.version} at ${remote.url}, active within a second`);
  for (const secret of stored.secrets.filter(({ set }) => !set)) {
    console.log(`Its secret ${secret.name} is not set: PUT ${path}/secrets/${secret.name} {"value":"…"}`);
  }
  return true;
}

/** An error response in words for someone who has pushed a folder; any other error unchanged. */
export function explainPushError(error: unknown, path: string, name: string): unknown {
  if (!(error instanceof ServerErrorResponse)) return error;
  if (error.code === 'plugin-in-folder') {
    return new Error(
      `The server loads ${name} from its own plugins folder: files saved there are active at once.\n` +
        'push is for servers without the folder: it saves the plugin and its versions in the database',
    );
  }
  const lines = error.issues.flatMap((issue) => lineOfRemote(path, issue) ?? []);
  return lines.length > 0 ? new Error(lines.join('\n')) : error;
}

function lineOfRemote(path: string, { pointer, detail: message, file, line, column }: ServerErrorIssue): string | null {
  if (file !== undefined)
    return formatDiagnostic({ file, line: line ?? null, column: column ?? null, message }, displayPath(path));
  const inManifest = /^\/manifest(\/.*)?$/.exec(pointer);
  return inManifest === null ? null : formatDiagnostic({ pointer: inManifest[1] ?? '', message }, displayPath(path));
}
