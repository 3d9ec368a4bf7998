/** The team: administrators and their roles. A user is opened and changed on the page Users. */
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
import { ADMIN_ROLES, ADMINS_ONLY, type ListedUser, nameOf } from '../users/users.ts';

export function Team() {
  const { owners: mayChange } = useRights();
  const {
    data: owners,
    error,
    refetch,
  } = useResource<readonly ListedUser[]>('/admin/users?kind=admin&limit=100', ['system.user.*']);
  if (error !== null) return <Failure error={error} again={() => void refetch()} />;
  if (owners === undefined) return <Loading />;
  return (
    <Stack>
      <Group justify="space-between">
        <Title order={2} size="h4">
          Administrators
        </Title>
        {mayChange ? (
          <PageLink to="/users" search={{ kind: 'admin', create: true }} size="sm">
            Add administrator
          </PageLink>
        ) : (
          <Text size="sm" c="dimmed">
            {ADMINS_ONLY}
          </Text>
        )}
      </Group>
      {owners.length === 0 ? (
        <Empty title="No administrators yet" command="npm run admin -- --setup-link">
          This command prints a setup link, which creates the first administrator.
        </Empty>
      ) : (
        <DataTable label="Administrators" columns={['Administrator', 'Roles', 'Created']}>
          {owners.map((owner) => (
            <Table.Tr key={owner.id}>
              <Table.Td>
                <PageLink to="/users" search={{ kind: 'admin', user: owner.id }} size="sm">
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
          {ADMIN_ROLES.map(({ role, may }) => (
            <Table.Tr key={role}>
              <Table.Th scope="row">{role}</Table.Th>
              <Table.Td>{may}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
      <Text size="sm">
        Without the dashboard: this command prints a link that creates an administrator or replaces a lost password.
      </Text>
      <Copyable text="millrace admin --setup-link" what="the command" />
    </Stack>
  );
}
