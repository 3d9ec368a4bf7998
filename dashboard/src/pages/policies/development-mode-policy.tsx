/** Explains the policy of development mode while it exists, and the effect of its removal. */
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
  const [isRequested, setRequested] = useState(false);
  if (beginning?.mode !== 'development' || !policies.some(({ id }) => id === OPEN_ID)) return null;
  return (
    <Alert
      color="yellow"
      icon={<IconLockOpen size={18} />}
      title="All clients have full access until you delete one policy"
    >
      <Stack gap="xs" align="flex-start">
        <Text size="sm">
          <Code>{OPEN_ID}</Code> allows every client all actions on all resources, so that you can start without users.
          It applies in development mode only. While it exists, your own policies have no visible effect. Delete it to
          test them as in production; then only administrators can open this dashboard.
        </Text>
        {build ? (
          <Button size="xs" variant="default" onClick={() => setRequested(true)}>
            Delete policy …
          </Button>
        ) : null}
      </Stack>
      {isRequested ? (
        <Confirm
          title="Delete the open policy"
          verb="Delete"
          {...(state === 'open' ? { name: OPEN_ID } : {})}
          onConfirm={async () => {
            await request('DELETE', `/admin/policies/${OPEN_ID}`);
            // A client without a user is no longer accepted: the page reloads with the sign-in.
            if (state === 'open') location.reload();
          }}
          onClose={() => setRequested(false)}
        >
          {state === 'open'
            ? 'You are not signed in. After this you need an administrator to sign in with: create one first with `millrace admin` on the server. Restoring a version brings the policy back.'
            : 'Then only your own policies apply. Restoring a version brings it back.'}
        </Confirm>
      ) : null}
    </Alert>
  );
}
