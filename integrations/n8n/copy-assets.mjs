/**
 * Part of `npm run build`: puts the icons and the n8n descriptions (`.node.json`) beside the compiled code, where n8n looks for
 * them. Not here: compiling (tsc).
 */
import { cpSync } from 'node:fs';

const KEPT = /\.(?:svg|node\.json)$/;

for (const folder of ['icons', 'nodes']) {
  cpSync(folder, `dist/${folder}`, { recursive: true, filter: (path) => !/\.[a-z]+$/.test(path) || KEPT.test(path) });
}
