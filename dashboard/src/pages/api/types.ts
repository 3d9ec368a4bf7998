/** A TypeScript type of the documents of a collection, from what its documents look like. Pure. */
import type { Shape, ShapeMember } from '../data/parts/columns.ts';

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
  member: ShapeMember | null;
  readonly parts: Map<string, Node>;
}

/** @param name of the collection */
export function typeOf(name: string, { members, sampled }: Shape): string {
  const root: Node = { member: null, parts: new Map() };
  for (const member of members) {
    // The document itself is the root, and `a[].b` is a, then [], then b.
    let node = root;
    for (const part of member.path.replaceAll('[]', '.[]').split('.')) {
      const next: Node = node.parts.get(part) ?? { member: null, parts: new Map() };
      node.parts.set(part, next);
      node = next;
    }
    node.member = member;
  }
  return `export interface ${typeName(name)} ${objectOf(root, sampled, '')}\n`;
}

function objectOf({ parts }: Node, documents: number, indent: string): string {
  const inner = `${indent}  `;
  const lines = [...parts].map(([name, node]) => {
    if (name === '*') return `${inner}[name: string]: ${written(node, inner)};`;
    const isOptional = (node.member?.documents ?? 0) < documents;
    return `${inner}${/^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name)}${isOptional ? '?' : ''}: ${written(node, inner)};`;
  });
  return `{\n${lines.join('\n')}\n${indent}}`;
}

function written(node: Node, indent: string): string {
  const { member, parts } = node;
  const types = member?.types ?? [];
  const all = types.map(({ type }) => {
    if (type === 'object')
      return parts.size === 0 ? 'Record<string, unknown>' : objectOf(own(node), member?.documents ?? 0, indent);
    if (type === 'array') return `readonly (${elementOf(parts.get('[]'), indent)})[]`;
    return WRITTEN[type] ?? 'unknown';
  });
  const union = [...new Set(all)];
  return union.length === 0 || union.includes('unknown') ? 'unknown' : union.join(' | ');
}

function elementOf(node: Node | undefined, indent: string): string {
  return node === undefined ? 'unknown' : written(node, indent);
}

/** The members of an object, without the elements of arrays that stand at the same path. */
function own({ member, parts }: Node): Node {
  return { member, parts: new Map([...parts].filter(([name]) => name !== '[]')) };
}

/** `order_lines` is `OrderLines`. */
function typeName(collection: string): string {
  return collection
    .split(/[^A-Za-z0-9]+/)
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('');
}
