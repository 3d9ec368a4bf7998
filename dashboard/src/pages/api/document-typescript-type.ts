/** A TypeScript type of the documents of a collection, from its inferred schema. Pure. */
import type { Shape, ShapeField } from '../data/parts/columns.ts';

/** Types of the database as the API shows their values; others are `unknown`. */
const WRITTEN: Readonly<Record<string, string>> = {
  string: 'string',
  objectId: 'string',
  date: 'string',
  boolean: 'boolean',
  number: 'number',
  null: 'null',
};

interface Node {
  field: ShapeField | null;
  readonly parts: Map<string, Node>;
}

/** @param name of the collection */
export function typeOf(name: string, { fields, sampled }: Shape): string {
  const root: Node = { field: null, parts: new Map() };
  for (const field of fields) {
    // The document itself is the root, and `a[].b` is a, then [], then b.
    let node = root;
    for (const part of field.path.replaceAll('[]', '.[]').split('.')) {
      const next: Node = node.parts.get(part) ?? { field: null, parts: new Map() };
      node.parts.set(part, next);
      node = next;
    }
    node.field = field;
  }
  return `export interface ${typeName(name)} ${objectOf(root, sampled, '')}\n`;
}

function objectOf({ parts }: Node, documents: number, indent: string): string {
  const inner = `${indent}  `;
  const lines = [...parts].map(([name, node]) => {
    if (name === '*') return `${inner}[name: string]: ${written(node, inner)};`;
    const isOptional = (node.field?.documents ?? 0) < documents;
    return `${inner}${/^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name)}${isOptional ? '?' : ''}: ${written(node, inner)};`;
  });
  return `{\n${lines.join('\n')}\n${indent}}`;
}

function written(node: Node, indent: string): string {
  const { field, parts } = node;
  const types = field?.types ?? [];
  const all = types.map(({ type }) => {
    if (type === 'object')
      return parts.size === 0 ? 'Record<string, unknown>' : objectOf(own(node), field?.documents ?? 0, indent);
    if (type === 'array') return `readonly (${elementOf(parts.get('[]'), indent)})[]`;
    return WRITTEN[type] ?? 'unknown';
  });
  const union = [...new Set(all)];
  return union.length === 0 || union.includes('unknown') ? 'unknown' : union.join(' | ');
}

function elementOf(node: Node | undefined, indent: string): string {
  return node === undefined ? 'unknown' : written(node, indent);
}

/** The fields of an object, without the elements of arrays at the same path. */
function own({ field, parts }: Node): Node {
  return { field, parts: new Map([...parts].filter(([name]) => name !== '[]')) };
}

/** `order_lines` is `OrderLines`. */
function typeName(collection: string): string {
  return collection
    .split(/[^A-Za-z0-9]+/)
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('');
}
