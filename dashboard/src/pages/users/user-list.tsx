/** The list of accounts: searched, page by page. */
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
import { type ListedUser, nameOf, USER_EVENTS } from './accounts.ts';
import type { UsersSearch } from './route.ts';

const ROWS = 50;
/** A pause in typing, in milliseconds, after which the search is made. */
const PAUSE_MS = 200;

interface UserListProps {
  readonly search: UsersSearch;
  readonly change: (next: UsersSearch, replace?: boolean) => void;
}

export function UserList({ search: { search, kind, after }, change }: UserListProps) {
  const [typed, setTyped] = useState(search ?? '');
  const find = useDebouncedCallback(
    (text: string) => change({ search: text === '' ? undefined : text, after: undefined }, true),
    PAUSE_MS,
  );
  const { data, error, refetch } = useListPage<ListedUser>(
    withQuery('/admin/users', { limit: ROWS, search, kind, after }),
    USER_EVENTS,
  );
  const isFiltered = search !== undefined || kind !== undefined;
  return (
    <>
      <Group gap="sm">
        <TextInput
          aria-label="Search accounts"
          placeholder="Name, address or id"
          leftSection={<IconSearch size={16} />}
          value={typed}
          onChange={({ currentTarget }) => {
            setTyped(currentTarget.value);
            find(currentTarget.value);
          }}
          w={260}
        />
        <SegmentedControl
          aria-label="Kind of account"
          value={kind ?? 'all'}
          onChange={(value) =>
            change({ kind: value === 'user' || value === 'owner' ? value : undefined, after: undefined })
          }
          data={[
            { value: 'all', label: 'All' },
            { value: 'user', label: 'Users' },
            { value: 'owner', label: 'Owners' },
          ]}
        />
      </Group>
      {error === null ? null : <Failure error={error} again={() => void refetch()} />}
      {data === undefined ? (
        error === null && <Loading />
      ) : data.items.length === 0 ? (
        <None isFiltered={isFiltered || after !== undefined} />
      ) : (
        <Rows users={data.items} />
      )}
      <Group>
        {after === undefined ? null : (
          <Button variant="default" size="xs" onClick={() => change({ after: undefined })}>
            First page
          </Button>
        )}
        {data?.next == null ? null : (
          <Button variant="default" size="xs" onClick={() => change({ after: data.next ?? undefined })}>
            Next page
          </Button>
        )}
      </Group>
    </>
  );
}

function Rows({ users }: { readonly users: readonly ListedUser[] }) {
  return (
    <DataTable label="Accounts" columns={['Account', 'Kind', 'Roles', 'State', 'Made']}>
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
          <Table.Td>{user.kind === 'owner' ? 'Owner' : 'User'}</Table.Td>
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
      <Empty title="No account is like this">
        The search compares how user names and e-mail addresses begin, without regard to case, and whole ids.
      </Empty>
    );
  }
  return (
    <Empty
      title="There are no accounts yet"
      command={`curl ${SERVER}/auth/register -H 'content-type: application/json' \\\n  -d '{"username":"ada","password":"four wooden ships sail"}'`}
    >
      Make one with the button above, or let people register themselves: by this request while registration is open, or
      by an identity provider (Settings). What an account may do is decided by policies.
    </Empty>
  );
}
