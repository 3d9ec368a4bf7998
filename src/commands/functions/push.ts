/**
 * `millrace functions push`: stores a folder as a new version of the plugin in the server's database. Not here: reading the
 * folder (functions/plugins/folders), and checking the scripts, which the server does.
 */
import Type from 'typebox';
import { readPlugin } from '../../functions/plugins/folders/read-plugin.ts';
import type { Manifest } from '../../functions/plugins/manifest/manifest.ts';
import { faultLine } from '../../functions/plugins/manifest/plugin-fault.ts';
import { Refused, type Remote, type RemoteFault } from '../remote/remote.ts';
import { shownPath } from './plugin-place.ts';

const STORED = Type.Object({
  version: Type.String(),
  secrets: Type.Array(Type.Object({ name: Type.String(), set: Type.Boolean() })),
});

/** A folder as it is sent. */
export interface Draft {
  readonly manifest: Manifest;
  readonly files: Readonly<Record<string, string>>;
}

/**
 * Reads the folder of a plugin.
 * @throws Error with a line for each fault, `plugins/invoice/total.ts:3:14: …`
 */
export async function readDraft(place: string, name: string): Promise<Draft> {
  const { manifest, files, faults } = await readPlugin(place, name);
  if (manifest === null || faults.length > 0)
    throw new Error(faults.map((fault) => faultLine(fault, shownPath(place))).join('\n'));
  return { manifest, files: Object.fromEntries(files) };
}

/** Stores it, and says which version it is. @throws Error with a line for each fault that the server has found */
export async function push(
  { place, name }: { readonly place: string; readonly name: string },
  note: string | undefined,
  remote: Remote,
): Promise<true> {
  const draft = await readDraft(place, name);
  const path = `/admin/plugins/${name}`;
  const body = { ...draft, ...(note !== undefined && { note }) };
  const stored = await remote.ask(STORED, 'PUT', path, body).catch((error: unknown) => {
    throw explained(error, place, name);
  });
  console.log(`${name} is version ${stored.version} at ${remote.url}, in force within a second`);
  for (const secret of stored.secrets.filter(({ set }) => !set)) {
    console.log(`Its secret ${secret.name} is not set: PUT ${path}/secrets/${secret.name} {"value":"…"}`);
  }
  return true;
}

/** What a refusal means for someone who has pushed a folder; any other error as it is. */
export function explained(error: unknown, place: string, name: string): unknown {
  if (!(error instanceof Refused)) return error;
  if (error.code === 'plugin-in-folder') {
    return new Error(
      `The server has ${name} in a folder of its own, and loads that by itself: whatever is saved there is in force.\n` +
        'push is for servers that do not have the folder. There a plugin is stored in the database, with its versions',
    );
  }
  const lines = error.faults.flatMap((fault) => lineOfRemote(place, fault) ?? []);
  return lines.length > 0 ? new Error(lines.join('\n')) : error;
}

function lineOfRemote(place: string, { pointer, detail: message, file, line, column }: RemoteFault): string | null {
  if (file !== undefined)
    return faultLine({ file, line: line ?? null, column: column ?? null, message }, shownPath(place));
  const inManifest = /^\/manifest(\/.*)?$/.exec(pointer);
  return inManifest === null ? null : faultLine({ pointer: inManifest[1] ?? '', message }, shownPath(place));
}
