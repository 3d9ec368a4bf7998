/** Users: found, created, and opened in a drawer beside the list. */
import { Button } from '@mantine/core';
import { IconPlus } from '@tabler/icons-react';
import { useRights } from '../../api/rights.ts';
import { Page } from '../../parts/page.tsx';
import { ForUsers } from '../../parts/users/for-users.tsx';
import { NewUser } from './new-user.tsx';
import { type UsersSearch, usersRoute } from './route.ts';
import { UserDrawer } from './user-drawer.tsx';
import { UserList } from './user-list.tsx';

export function UsersPage() {
  const { accounts } = useRights();
  const search = usersRoute.useSearch();
  const navigate = usersRoute.useNavigate();
  const change = (next: UsersSearch, replace = false) =>
    void navigate({ search: (now) => ({ ...now, ...next }), replace });
  return (
    <Page
      title="Users"
      about="Users of your application, and the administrators of this server."
      actions={
        accounts ? (
          <Button leftSection={<IconPlus size={16} />} onClick={() => change({ create: true })}>
            New user
          </Button>
        ) : null
      }
    >
      <ForUsers>
        <UserList search={search} change={change} />
        {search.user === undefined ? null : (
          <UserDrawer key={search.user} id={search.user} onClose={() => change({ user: undefined })} />
        )}
        {search.create === undefined ? null : (
          <NewUser
            onClose={() => change({ create: undefined }, true)}
            onCreated={(user) => change({ create: undefined, user }, true)}
          />
        )}
      </ForUsers>
    </Page>
  );
}
