/** The policies in force, one row each. */
import { Badge, Card, Group, Table, Text } from '@mantine/core';
import { Empty } from '../../parts/empty.tsx';
import { PageLink } from '../../parts/page-link.tsx';
import { TableHead } from '../../parts/tables/table-head.tsx';
import { principalsInWords, type SavedPolicy, whereInWords } from './parts/policies.ts';

export function PolicyList({ policies }: { readonly policies: readonly SavedPolicy[] }) {
  if (policies.length === 0) {
    return (
      <Empty
        title="There are no policies: only owners may do anything"
        command={`curl ${location.origin}/admin/policies -H 'content-type: application/json' \\\n  -d '{"name":"Everybody reads posts","collections":["posts"],"actions":["read"],"effect":"allow"}'`}
      >
        Nothing is allowed unless a policy allows it. A policy says which clients may do which actions on which
        documents. Make one with the button above, or by this request.
      </Empty>
    );
  }
  return (
    <Card withBorder padding={0}>
      <Table.ScrollContainer minWidth={820} type="native">
        <Table highlightOnHover verticalSpacing="xs" aria-label="Policies">
          <TableHead columns={['Policy', 'Effect', 'Who', 'Actions', 'Places', 'Documents']} />
          <Table.Tbody>
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
                    {policy.mode === undefined ? null : (
                      <Badge variant="default" tt="none">
                        {policy.mode} only
                      </Badge>
                    )}
                  </Group>
                </Table.Td>
                <Table.Td style={{ overflowWrap: 'anywhere' }}>{principalsInWords(policy.principals)}</Table.Td>
                <Table.Td>{policy.actions.join(', ')}</Table.Td>
                <Table.Td style={{ overflowWrap: 'anywhere' }}>{policy.collections.join(', ')}</Table.Td>
                <Table.Td>
                  <Text size="xs" ff="monospace" lineClamp={2} style={{ overflowWrap: 'anywhere' }}>
                    {whereInWords(policy)}
                  </Text>
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
    </Card>
  );
}

export function Effect({ effect }: { readonly effect: 'allow' | 'deny' }) {
  return (
    <Badge variant="light" color={effect === 'allow' ? 'teal' : 'red'} tt="none">
      {effect}
    </Badge>
  );
}
