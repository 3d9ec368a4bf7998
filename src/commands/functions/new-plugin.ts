/**
 * `millrace functions new`: a plugin that works, in a folder of its own, and what to do with it next.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { readManifest } from '../../functions/plugins/manifest/manifest-rules.ts';
import { faultLine } from '../../functions/plugins/manifest/plugin-fault.ts';
import type { FunctionKind } from '../../functions/sandbox/sandbox.ts';
import { DEFAULT_URL } from '../remote/command-words.ts';
import type { Remote } from '../remote/remote.ts';
import { offerTypes, SCHEMA_FILE } from './author-files.ts';
import { FUNCTIONS, shownPath, writeFiles } from './plugin-place.ts';
import { type Template, templateOf } from './templates.ts';

export interface NewPlugin {
  readonly name: string;
  readonly kind: FunctionKind;
  /** In which its folder is made. */
  readonly folder: string;
}

/**
 * Makes it and says so.
 * @throws Error when the name is no name for a plugin, or is taken; nothing is written then
 */
export async function newPlugin({ name, kind, folder }: NewPlugin, remote: Remote): Promise<true> {
  const template = templateOf(kind, name);
  const manifest = { $schema: `../${SCHEMA_FILE}`, name, functions: template.functions };
  const read = await readManifest(manifest, name);
  if ('faults' in read) throw new Error(read.faults.map((fault) => faultLine(fault)).join('\n'));
  const place = join(folder, name);
  if (existsSync(place)) throw new Error(`${shownPath(place)} exists already. Choose another name, or remove it`);
  const files = new Map([
    ['plugin.json', `${JSON.stringify(manifest, null, 2)}\n`],
    ...Object.entries(template.scripts),
    ['README.md', readmeOf(name, template, remote.url)],
  ]);
  // Scripts first: a server that watches the folder takes it for a plugin as soon as there is a manifest.
  writeFiles(place, new Map([...files].reverse()));
  const known = await offerTypes(folder, remote);
  console.log(`Made ${shownPath(place)}: ${[...files.keys()].join(', ')}`);
  console.log(
    `Types for editors are in ${shownPath(join(folder, 'millrace.d.ts'))}${known ? '' : general(remote.url)}\n`,
  );
  console.log(`A server that is started here loads it by itself, and again whenever you save. To see it work:\n`);
  for (const line of template.tries(remote.url)) console.log(`  ${line}`);
  const at = remote.url === DEFAULT_URL ? '' : ` --url ${remote.url}`;
  console.log(`  ${FUNCTIONS} logs ${name}${at}    in another terminal: its runs and what they log`);
  return true;
}

const general = (url: string): string => `, without your collections:
no server answers at ${url}. Name another one with --url,
or write them when one runs: ${FUNCTIONS} types`;

function readmeOf(name: string, { about, tries, functions }: Template, url: string): string {
  const itself = functions.some((fn) => 'as' in fn);
  const policy = itself
    ? `In production it may read and write what policies give to the role \`${name}\`.`
    : 'It acts as the principal that asks. In production policies say who may call it (on `functions`), and what they may read and write.';
  return `# ${name}

${about}

\`\`\`text
${tries(url).join('\n')}
\`\`\`

${policy} All about functions: docs/plugins.md of Millrace.
`;
}
