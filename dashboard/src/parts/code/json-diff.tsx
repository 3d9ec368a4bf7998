/** Two states of a document, field by field: what was added, removed and changed. */
import { Badge, Code, Table, Text } from '@mantine/core';
import { DataTable } from '../tables/data-table.tsx';

type State = Readonly<Record<string, unknown>> | null;

interface Difference {
  readonly path: string;
  readonly kind: 'added' | 'removed' | 'changed';
  readonly before: unknown;
  readonly after: unknown;
}

const COLOURS = { added: 'teal', removed: 'red', changed: 'blue' } as const;

export function JsonDiff({ before, after }: { readonly before: State; readonly after: State }) {
  const differences = compare(before ?? {}, after ?? {}, '');
  if (differences.length === 0) return <Text size="sm">No differences</Text>;
  return (
    <DataTable label="Changes" columns={['Field', 'Before', 'After']} few>
      {differences.map(({ path, kind, before: was, after: is }) => (
        <Table.Tr key={path}>
          <Table.Td>
            <Code style={{ overflowWrap: 'anywhere' }}>{path}</Code>{' '}
            <Badge size="xs" variant="light" color={COLOURS[kind]}>
              {kind}
            </Badge>
          </Table.Td>
          <Table.Td>{kind === 'added' ? null : <Value value={was} />}</Table.Td>
          <Table.Td>{kind === 'removed' ? null : <Value value={is} />}</Table.Td>
        </Table.Tr>
      ))}
    </DataTable>
  );
}

function Value({ value }: { readonly value: unknown }) {
  return <Code style={{ overflowWrap: 'anywhere' }}>{JSON.stringify(value)}</Code>;
}

/** Objects are compared field by field, everything else as a whole. */
function compare(before: object, after: object, prefix: string): Difference[] {
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...names].flatMap((name): Difference[] => {
    const path = prefix + name;
    const [was, is]: unknown[] = [Reflect.get(before, name), Reflect.get(after, name)];
    if (!(name in before)) return [{ path, kind: 'added', before: undefined, after: is }];
    if (!(name in after)) return [{ path, kind: 'removed', before: was, after: undefined }];
    if (isObject(was) && isObject(is)) return compare(was, is, `${path}.`);
    return JSON.stringify(was) === JSON.stringify(is) ? [] : [{ path, kind: 'changed', before: was, after: is }];
  });
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
