/** Who runs the server: owners and their roles. An account is opened and changed on the page Users. */
import { Badge, Group, Stack, Table, Text, Title } from '@mantine/core';
import { useResource } from '../../api/live.ts';
import { useRights } from '../../api/rights.ts';
import { Copyable } from '../../parts/copy.tsx';
import { Empty } from '../../parts/empty.tsx';
import { Failure } from '../../parts/failure.tsx';
import { Loading } from '../../parts/page.tsx';
import { PageLink } from '../../parts/page-link.tsx';
import { DataTable } from '../../parts/tables/data-table.tsx';
import { When } from '../../parts/when.tsx';
import { type ListedUser, nameOf, OWNER_ROLES, OWNERS_ONLY } from '../users/accounts.ts';

export function Team() {
  const { owners: mayChange } = useRights();
  const {
    data: owners,
    error,
    refetch,
  } = useResource<readonly ListedUser[]>('/admin/users?kind=owner&limit=100', ['system.user.*']);
  if (error !== null) return <Failure error={error} again={() => void refetch()} />;
  if (owners === undefined) return <Loading />;
  return (
    <Stack>
      <Group justify="space-between">
        <Title order={2} size="h4">
          Owners
        </Title>
        {mayChange ? (
          <PageLink to="/users" search={{ kind: 'owner', create: true }} size="sm">
            Add an owner
          </PageLink>
        ) : (
          <Text size="sm" c="dimmed">
            {OWNERS_ONLY}
          </Text>
        )}
      </Group>
      {owners.length === 0 ? (
        <Empty title="There is no owner yet" command="npm run owner -- --link">
          This command prints a set-up link, which makes the first one.
        </Empty>
      ) : (
        <DataTable label="Owners" columns={['Account', 'Roles', 'Since']}>
          {owners.map((owner) => (
            <Table.Tr key={owner.id}>
              <Table.Td>
                <PageLink to="/users" search={{ kind: 'owner', user: owner.id }} size="sm">
                  {nameOf(owner)}
                </PageLink>
              </Table.Td>
              <Table.Td>
                <Group gap={4}>
                  {owner.roles.map((role) => (
                    <Badge key={role} variant="default">
                      {role}
                    </Badge>
                  ))}
                  {owner.disabled ? <Text size="sm">disabled</Text> : null}
                </Group>
              </Table.Td>
              <Table.Td>
                <When at={owner.createdAt} />
              </Table.Td>
            </Table.Tr>
          ))}
        </DataTable>
      )}
      <Title order={2} size="h4">
        Roles
      </Title>
      <Table>
        <Table.Tbody>
          {OWNER_ROLES.map(({ role, may }) => (
            <Table.Tr key={role}>
              <Table.Th scope="row">{role}</Table.Th>
              <Table.Td>{may}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
      <Text size="sm">Without the dashboard: a link that makes an owner, or replaces the lost password of one.</Text>
      <Copyable text="millrace owner --link" what="the command" />
    </Stack>
  );
}
