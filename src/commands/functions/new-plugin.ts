/** `millrace functions new`: a working plugin in its own folder, and the next steps. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { readManifest } from '../../functions/plugins/manifest/manifest-rules.ts';
import { formatDiagnostic } from '../../functions/plugins/manifest/plugin-error.ts';
import type { FunctionKind } from '../../functions/sandbox/sandbox.ts';
import { DEFAULT_URL } from '../remote/cli-args.ts';
import type { RemoteServer } from '../remote/remote.ts';
import { PLUGIN_SCHEMA_FILE, tryWritePluginTypes } from './editor-files.ts';
import { displayPath, FUNCTIONS_COMMAND, writeFiles } from './plugin-folder.ts';
import { createPluginTemplate, type PluginTemplate } from './templates.ts';

export interface NewPlugin {
  readonly name: string;
  readonly kind: FunctionKind;
  /** The parent of its folder. */
  readonly folder: string;
}

/**
 * Creates it and prints the next steps.
 * @throws Error when the name is invalid or taken; nothing is written then
 */
export async function newPlugin({ name, kind, folder }: NewPlugin, remote: RemoteServer): Promise<true> {
  const template = createPluginTemplate(kind, name);
  const manifest = { $schema: `../${PLUGIN_SCHEMA_FILE}`, name, functions: template.functions };
  const read = await readManifest(manifest, name);
  if ('diagnostics' in read) throw new Error(read.diagnostics.map((issue) => formatDiagnostic(issue)).join('\n'));
  const path = join(folder, name);
  if (existsSync(path)) throw new Error(`${displayPath(path)} already exists. Choose another name, or remove it`);
  const files = new Map([
    ['plugin.json', `${JSON.stringify(manifest, null, 2)}\n`],
    ...Object.entries(template.scripts),
    ['README.md', readmeOf(name, template, remote.url)],
  ]);
  // Scripts first: a server that watches the folder loads the plugin as soon as the manifest exists.
  writeFiles(path, new Map([...files].reverse()));
  const known = await tryWritePluginTypes(folder, remote);
  console.log(`Created ${displayPath(path)}: ${[...files.keys()].join(', ')}`);
  console.log(
    `Types for editors are in ${displayPath(join(folder, 'millrace.d.ts'))}${known ? '' : general(remote.url)}\n`,
  );
  console.log(`A server started here loads it automatically, and reloads it whenever you save. To test it:\n`);
  for (const line of template.attempts(remote.url)) console.log(`  ${line}`);
  const at = remote.url === DEFAULT_URL ? '' : ` --url ${remote.url}`;
  console.log(`  ${FUNCTIONS_COMMAND} logs ${name}${at}    in another terminal: its runs and their log lines`);
  return true;
}

const general = (url: string): string =>
  `, without your collections: no server responds at ${url}. Use --url for another one, or update them when it runs: ${FUNCTIONS_COMMAND} types`;

function readmeOf(name: string, { about, attempts, functions }: PluginTemplate, url: string): string {
  const itself = functions.some((fn) => 'as' in fn);
  const policy = itself
    ? `In production it can read and write what policies allow for the role \`${name}\`.`
    : 'It runs as the caller. In production, policies say who can call it (on `functions`), and what the caller can read and write.';
  return `# ${name}

${about}

\`\`\`text
${attempts(url).join('\n')}
\`\`\`

${policy} Documentation of functions: docs/plugins.md of Millrace.
`;
}
