/**
 * Part of `npm run build`: copies the icons and the n8n descriptions (`.node.json`) next to the compiled code, where n8n looks
 * for them.
 */
import { cpSync } from 'node:fs';

const KEPT = /\.(?:svg|node\.json)$/;

for (const folder of ['icons', 'nodes']) {
  cpSync(folder, `dist/${folder}`, { recursive: true, filter: (path) => !/\.[a-z]+$/.test(path) || KEPT.test(path) });
}
