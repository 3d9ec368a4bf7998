/** API keys: listed, made, revoked. */
import { Button } from '@mantine/core';
import { IconPlus } from '@tabler/icons-react';
import { useRights } from '../../api/rights.ts';
import { ForAccounts } from '../../parts/accounts/for-accounts.tsx';
import { Page } from '../../parts/page.tsx';
import { KeyList } from './key-list.tsx';
import { NewKey } from './new-key.tsx';
import { type KeysSearch, keysRoute } from './route.ts';

export function KeysPage() {
  const { accounts } = useRights();
  const { after, create } = keysRoute.useSearch();
  const navigate = keysRoute.useNavigate();
  const change = (next: KeysSearch, replace = false) =>
    void navigate({ search: (now) => ({ ...now, ...next }), replace });
  return (
    <Page
      title="Keys"
      about="API keys of programs. A key may do what policies allow it, within its own places and actions."
      actions={
        accounts ? (
          <Button leftSection={<IconPlus size={16} />} onClick={() => change({ create: true })}>
            New key
          </Button>
        ) : null
      }
    >
      <ForAccounts>
        <KeyList after={after} change={change} />
        {create === undefined ? null : <NewKey onClose={() => change({ create: undefined }, true)} />}
      </ForAccounts>
    </Page>
  );
}
