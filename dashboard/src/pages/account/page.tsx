/** The user's own account: what protects its sign-in. */
import { Alert, Stack } from '@mantine/core';
import { useSession } from '../../api/live.ts';
import { useAccount } from '../../api/rights.ts';
import { Page } from '../../parts/page.tsx';
import { Mfa } from './mfa-section.tsx';
import { Passkeys } from './passkeys.tsx';

export function AccountPage() {
  const { state } = useSession();
  const account = useAccount();
  if (state === 'open') {
    return (
      <Page title="Your account">
        <Alert color="gray" title="You are not signed in">
          In development mode the dashboard opens without sign-in. Sign-in is required when the development-mode policy
          is deleted, and in production mode.
        </Alert>
      </Page>
    );
  }
  return (
    <Page title="Your account" about={account?.username ?? account?.email ?? account?.id}>
      <Stack>
        <Mfa />
        <Passkeys />
      </Stack>
    </Page>
  );
}
