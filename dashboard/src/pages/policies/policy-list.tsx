/** The policies in force, one row each. */
import { Badge, Group, Table, Text } from '@mantine/core';
import { curl } from '../../parts/command.ts';
import { Empty } from '../../parts/empty.tsx';
import { PageLink } from '../../parts/page-link.tsx';
import { DataTable } from '../../parts/tables/data-table.tsx';
import { principalsInWords, type SavedPolicy, whereInWords } from './parts/policies.ts';

export function PolicyList({ policies }: { readonly policies: readonly SavedPolicy[] }) {
  if (policies.length === 0) {
    return (
      <Empty
        title="There are no policies: only owners may do anything"
        command={curl('/admin/policies', {
          name: 'Everybody reads posts',
          collections: ['posts'],
          actions: ['read'],
          effect: 'allow',
        })}
      >
        Nothing is allowed unless a policy allows it. A policy says which clients may do which actions on which
        documents. Make one with the button above, or by this request.
      </Empty>
    );
  }
  return (
    <DataTable label="Policies" columns={['Policy', 'Effect', 'Who', 'Actions', 'Places', 'Documents']}>
      {policies.map((policy) => (
        <Table.Tr key={policy.id}>
          <Table.Td>
            <PageLink to="/policies" search={{ policy: policy.id }} size="sm" fw={500}>
              {policy.name}
            </PageLink>
            <Text size="xs" c="dimmed">
              {policy.id}
            </Text>
          </Table.Td>
          <Table.Td>
            <Group gap={4}>
              <Effect effect={policy.effect} />
              {policy.mode === undefined ? null : <Badge variant="default">{policy.mode} only</Badge>}
            </Group>
          </Table.Td>
          <Table.Td miw={110} style={{ overflowWrap: 'anywhere' }}>
            {principalsInWords(policy.principals)}
          </Table.Td>
          <Table.Td>{policy.actions.join(', ')}</Table.Td>
          <Table.Td miw={110} style={{ overflowWrap: 'anywhere' }}>
            {policy.collections.join(', ')}
          </Table.Td>
          <Table.Td>
            <Text size="xs" ff="monospace" lineClamp={2} style={{ overflowWrap: 'anywhere' }}>
              {whereInWords(policy)}
            </Text>
          </Table.Td>
        </Table.Tr>
      ))}
    </DataTable>
  );
}

export function Effect({ effect }: { readonly effect: 'allow' | 'deny' }) {
  return (
    <Badge variant="light" color={effect === 'allow' ? 'teal' : 'red'} miw="max-content">
      {effect}
    </Badge>
  );
}
