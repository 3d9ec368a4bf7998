/**
 * Resolves a method and a path to an HTTP function. A literal segment precedes a parameter, and a path belongs to its
 * most specific pattern alone, as for the routes of the server itself. Pure.
 */
import type { PluginFunction } from '../plugins/plugin.ts';

export type Endpoint = PluginFunction<'http'>;

/** The function of a request. */
export type EndpointMatch =
  | { readonly kind: 'found'; readonly fn: Endpoint; readonly params: Readonly<Record<string, string>> }
  /** The path exists for other methods: `Allow`. */
  | { readonly kind: 'other-methods'; readonly allow: string }
  | { readonly kind: 'nothing' };

interface Node {
  readonly literals: Map<string, Node>;
  parameter: Node | null;
  /** By method; with the parameter names, which may differ between methods. */
  readonly endpoints: Map<string, { readonly fn: Endpoint; readonly names: readonly string[] }>;
}

export class EndpointTable {
  readonly #root = emptyNode();

  constructor(endpoints: readonly Endpoint[]) {
    for (const fn of endpoints) this.#add(fn);
  }

  /**
   * @param method of the request; HEAD is handled as GET
   * @param path decoded segments of the path after `/fn`
   */
  find(method: string, path: readonly string[]): EndpointMatch {
    const values: string[] = [];
    const node = closest(this.#root, path, 0, values);
    if (node === null) return { kind: 'nothing' };
    const found = node.endpoints.get(method === 'HEAD' ? 'GET' : method);
    if (found === undefined) return { kind: 'other-methods', allow: allowOf(node) };
    return {
      kind: 'found',
      fn: found.fn,
      params: Object.fromEntries(found.names.map((name, index) => [name, values[index] ?? ''])),
    };
  }

  /** The methods of a path, for `Allow`; null for an unknown path. */
  allowed(path: readonly string[]): string | null {
    const node = closest(this.#root, path, 0, []);
    return node === null ? null : allowOf(node);
  }

  #add(fn: Endpoint): void {
    let node = this.#root;
    const names: string[] = [];
    for (const segment of splitPath(fn.options.path)) {
      if (segment.startsWith(':')) {
        names.push(segment.slice(1));
        node.parameter ??= emptyNode();
        node = node.parameter;
        continue;
      }
      const next = node.literals.get(segment) ?? emptyNode();
      node.literals.set(segment, next);
      node = next;
    }
    // Validation rejects two functions with one method and path; the first one is kept.
    for (const method of fn.options.methods) if (!node.endpoints.has(method)) node.endpoints.set(method, { fn, names });
  }
}

/** The segments of a path that begins with `/`. */
export function splitPath(path: string): readonly string[] {
  return path.split('/').slice(1);
}

function emptyNode(): Node {
  return { literals: new Map(), parameter: null, endpoints: new Map() };
}

/** The node of the most specific pattern; `values` receives the parameter values. */
function closest(node: Node, path: readonly string[], at: number, values: string[]): Node | null {
  const segment = path[at];
  if (segment === undefined) return node.endpoints.size > 0 ? node : null;
  const literal = node.literals.get(segment);
  const found = literal === undefined ? null : closest(literal, path, at + 1, values);
  if (found !== null || node.parameter === null || segment === '') return found;
  values.push(segment);
  const below = closest(node.parameter, path, at + 1, values);
  if (below === null) values.pop();
  return below;
}

function allowOf({ endpoints }: Node): string {
  const methods = new Set(['OPTIONS', ...endpoints.keys()]);
  if (methods.has('GET')) methods.add('HEAD');
  return [...methods].sort().join(', ');
}
