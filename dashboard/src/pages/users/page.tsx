/** Accounts: found, made, and opened in a drawer beside the list. */
import { Button } from '@mantine/core';
import { IconPlus } from '@tabler/icons-react';
import { useRights } from '../../api/rights.ts';
import { ForAccounts } from '../../parts/accounts/for-accounts.tsx';
import { Page } from '../../parts/page.tsx';
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
      about="Accounts of people: those who use your application, and the owners who run this server."
      actions={
        accounts ? (
          <Button leftSection={<IconPlus size={16} />} onClick={() => change({ create: true })}>
            New account
          </Button>
        ) : null
      }
    >
      <ForAccounts>
        <UserList search={search} change={change} />
        {search.user === undefined ? null : (
          <UserDrawer key={search.user} id={search.user} onClose={() => change({ user: undefined })} />
        )}
        {search.create === undefined ? null : (
          <NewUser
            onClose={() => change({ create: undefined }, true)}
            onMade={(user) => change({ create: undefined, user }, true)}
          />
        )}
      </ForAccounts>
    </Page>
  );
}
