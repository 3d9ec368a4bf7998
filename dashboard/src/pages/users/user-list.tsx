/** The list of users: searched, page by page. */
import { Anchor, Badge, Button, Group, SegmentedControl, Table, Text, TextInput } from '@mantine/core';
import { useDebouncedCallback } from '@mantine/hooks';
import { IconSearch } from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { withQuery } from '../../api/client.ts';
import { useListPage } from '../../api/live.ts';
import { SERVER } from '../../api/server.ts';
import { Empty } from '../../parts/empty.tsx';
import { Failure } from '../../parts/failure.tsx';
import { Loading } from '../../parts/page.tsx';
import { DataTable } from '../../parts/tables/data-table.tsx';
import { When } from '../../parts/when.tsx';
import type { UsersSearch } from './route.ts';
import { type ListedUser, nameOf, USER_EVENTS } from './users.ts';

const ROWS = 50;
/** The search starts this long after the last keystroke, in milliseconds. */
const PAUSE_MS = 200;

interface UserListProps {
  readonly search: UsersSearch;
  readonly change: (next: UsersSearch, replace?: boolean) => void;
}

export function UserList({ search: { search, kind, cursor }, change }: UserListProps) {
  const [typed, setTyped] = useState(search ?? '');
  const find = useDebouncedCallback(
    (text: string) => change({ search: text === '' ? undefined : text, cursor: undefined }, true),
    PAUSE_MS,
  );
  const { data, error, refetch } = useListPage<ListedUser>(
    withQuery('/admin/users', { limit: ROWS, search, kind, cursor }),
    USER_EVENTS,
  );
  const isFiltered = search !== undefined || kind !== undefined;
  return (
    <>
      <Group gap="sm">
        <TextInput
          aria-label="Search users"
          placeholder="Name, e-mail address or id"
          leftSection={<IconSearch size={16} />}
          value={typed}
          onChange={({ currentTarget }) => {
            setTyped(currentTarget.value);
            find(currentTarget.value);
          }}
          w={260}
        />
        <SegmentedControl
          aria-label="Kind of user"
          value={kind ?? 'all'}
          onChange={(value) =>
            change({ kind: value === 'user' || value === 'admin' ? value : undefined, cursor: undefined })
          }
          data={[
            { value: 'all', label: 'All' },
            { value: 'user', label: 'Users' },
            { value: 'admin', label: 'Administrators' },
          ]}
        />
      </Group>
      {error === null ? null : <Failure error={error} again={() => void refetch()} />}
      {data === undefined ? (
        error === null && <Loading />
      ) : data.items.length === 0 ? (
        <None isFiltered={isFiltered || cursor !== undefined} />
      ) : (
        <Rows users={data.items} />
      )}
      <Group>
        {cursor === undefined ? null : (
          <Button variant="default" size="xs" onClick={() => change({ cursor: undefined })}>
            First page
          </Button>
        )}
        {data?.next == null ? null : (
          <Button variant="default" size="xs" onClick={() => change({ cursor: data.next ?? undefined })}>
            Next page
          </Button>
        )}
      </Group>
    </>
  );
}

function Rows({ users }: { readonly users: readonly ListedUser[] }) {
  return (
    <DataTable label="Users" columns={['User', 'Kind', 'Roles', 'State', 'Created']}>
      {users.map((user) => (
        <Table.Tr key={user.id}>
          <Table.Td>
            <Anchor
              size="sm"
              fw={500}
              renderRoot={(props) => <Link to="/users" search={(now) => ({ ...now, user: user.id })} {...props} />}
            >
              {nameOf(user)}
            </Anchor>
            {user.username === null || user.email === null ? null : (
              <Text size="xs" c="dimmed">
                {user.email}
              </Text>
            )}
          </Table.Td>
          <Table.Td>{user.kind === 'admin' ? 'Administrator' : 'User'}</Table.Td>
          <Table.Td>
            {user.roles.length === 0 ? 'none' : null}
            <Group gap={4}>
              {user.roles.map((role) => (
                <Badge key={role} variant="default">
                  {role}
                </Badge>
              ))}
            </Group>
          </Table.Td>
          <Table.Td>
            {user.disabled ? (
              <Badge variant="outline" color="red">
                Disabled
              </Badge>
            ) : (
              'Active'
            )}
          </Table.Td>
          <Table.Td>
            <When at={user.createdAt} />
          </Table.Td>
        </Table.Tr>
      ))}
    </DataTable>
  );
}

function None({ isFiltered }: { readonly isFiltered: boolean }) {
  if (isFiltered) {
    return (
      <Empty title="No matching users">
        The search matches the beginning of user names and e-mail addresses (case-insensitive), and whole ids.
      </Empty>
    );
  }
  return (
    <Empty
      title="No users yet"
      command={`curl ${SERVER}/auth/register -H 'content-type: application/json' \\\n  -d '{"username":"ada","password":"four wooden ships sail"}'`}
    >
      Create one with the button above, or let users register themselves: with this request while registration is open,
      or with an identity provider (Settings). Policies decide what a user can do.
    </Empty>
  );
}
