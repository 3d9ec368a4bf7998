/** The enabled policies, one row each. */
import { Badge, Group, Table, Text } from '@mantine/core';
import { curl } from '../../parts/curl-command.ts';
import { Empty } from '../../parts/empty.tsx';
import { PageLink } from '../../parts/page-link.tsx';
import { DataTable } from '../../parts/tables/data-table.tsx';
import { filterInWords, principalsInWords, type SavedPolicy } from './parts/policies.ts';

export function PolicyList({ policies }: { readonly policies: readonly SavedPolicy[] }) {
  if (policies.length === 0) {
    return (
      <Empty
        title="No policies yet: only administrators have access"
        command={curl('/admin/policies', {
          name: 'Everyone reads posts',
          resources: ['posts'],
          actions: ['read'],
          effect: 'allow',
        })}
      >
        Access is denied unless a policy allows it. A policy says which clients can perform which actions on which
        documents. Create one with the button above or with this request.
      </Empty>
    );
  }
  return (
    <DataTable label="Policies" columns={['Policy', 'Effect', 'Applies to', 'Actions', 'Resources', 'Documents']}>
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
            {policy.resources.join(', ')}
          </Table.Td>
          <Table.Td>
            <Text size="xs" ff="monospace" lineClamp={2} style={{ overflowWrap: 'anywhere' }}>
              {filterInWords(policy)}
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
