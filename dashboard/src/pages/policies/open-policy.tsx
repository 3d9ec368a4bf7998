/** Says what the policy of development mode does, as long as it is there, and what goes with it. */
import { Alert, Button, Code, Stack, Text } from '@mantine/core';
import { IconLockOpen } from '@tabler/icons-react';
import { useState } from 'react';
import { request } from '../../api/client.ts';
import { useSession } from '../../api/live.ts';
import { useRights } from '../../api/rights.ts';
import { Confirm } from '../../parts/confirm.tsx';
import { OPEN_ID, type SavedPolicy } from './parts/policies.ts';

export function OpenPolicy({ policies }: { readonly policies: readonly SavedPolicy[] }) {
  const { beginning, state } = useSession();
  const { build } = useRights();
  const [isAsked, setAsked] = useState(false);
  if (beginning?.mode !== 'development' || !policies.some(({ id }) => id === OPEN_ID)) return null;
  return (
    <Alert
      color="yellow"
      icon={<IconLockOpen size={18} />}
      title="Everybody may do everything, until you delete one policy"
    >
      <Stack gap="xs" align="flex-start">
        <Text size="sm">
          <Code>{OPEN_ID}</Code> allows every client all actions in all places, so that you can begin without accounts.
          It counts in development mode only: production never opens anything by it. Your own policies have no visible
          effect beside it. Delete it to try them as they will be in production; then only owners reach this dashboard.
        </Text>
        {build ? (
          <Button size="xs" variant="default" onClick={() => setAsked(true)}>
            Delete this policy …
          </Button>
        ) : null}
      </Stack>
      {isAsked ? (
        <Confirm
          title="Delete the open policy"
          verb="Delete"
          {...(state === 'open' ? { name: OPEN_ID } : {})}
          onConfirm={async () => {
            await request('DELETE', `/admin/policies/${OPEN_ID}`);
            // Whoever is here without an account is no longer let in: the page begins again, with the sign-in.
            if (state === 'open') location.reload();
          }}
          onClose={() => setAsked(false)}
        >
          {state === 'open'
            ? 'You are here without an account. After this you need an owner account to come back: make one first with `millrace owner` on the server. The policy comes back by restoring a version.'
            : 'From then on your own policies decide. It comes back by restoring a version.'}
        </Confirm>
      ) : null}
    </Alert>
  );
}
