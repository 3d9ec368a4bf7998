/** Paths of fields as the server writes them: names joined by dots, and any name as `['name']` (docs/api.md). */

const STEP = /\['((?:[^'\\]|\\.)*)'\]|[^.]+?(?=\['|\.|$)/gs;

/** The names in a path. */
export function stepsOf(path: string): readonly string[] {
  return [...path.matchAll(STEP)].map(([step, quoted]) => quoted?.replaceAll(/\\(.)/gs, '$1') ?? step);
}

/** A name as the path of a top-level field. */
export function pathOfName(name: string): string {
  return name === '' || /^[$-]|[.,[\]]/.test(name) ? `['${name.replaceAll(/['\\]/g, '\\$&')}']` : name;
}

/** Whether a path is a field within the other one. */
export function isBelow(path: string, above: string): boolean {
  return path.startsWith(`${above}.`) || path.startsWith(`${above}['`);
}
