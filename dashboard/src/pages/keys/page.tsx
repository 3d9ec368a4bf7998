/** API keys: list, create, revoke. */
import { Button } from '@mantine/core';
import { IconPlus } from '@tabler/icons-react';
import { useRights } from '../../api/rights.ts';
import { Page } from '../../parts/page.tsx';
import { ForUsers } from '../../parts/users/for-users.tsx';
import { KeyList } from './key-list.tsx';
import { NewKey } from './new-key.tsx';
import { type KeysSearch, keysRoute } from './route.ts';

export function KeysPage() {
  const { accounts } = useRights();
  const { cursor, create } = keysRoute.useSearch();
  const navigate = keysRoute.useNavigate();
  const change = (next: KeysSearch, replace = false) =>
    void navigate({ search: (now) => ({ ...now, ...next }), replace });
  return (
    <Page
      title="Keys"
      about="API keys for programs. A key can do what policies allow, within its own resources and actions."
      actions={
        accounts ? (
          <Button leftSection={<IconPlus size={16} />} onClick={() => change({ create: true })}>
            New key
          </Button>
        ) : null
      }
    >
      <ForUsers>
        <KeyList cursor={cursor} change={change} />
        {create === undefined ? null : <NewKey onClose={() => change({ create: undefined }, true)} />}
      </ForUsers>
    </Page>
  );
}
