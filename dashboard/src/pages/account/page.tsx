/** The account of the person at the dashboard: what protects its sign-in. */
import { Alert, Stack } from '@mantine/core';
import { useSession } from '../../api/live.ts';
import { useAccount } from '../../api/rights.ts';
import { Page } from '../../parts/page.tsx';
import { Passkeys } from './passkeys.tsx';
import { SecondFactor } from './second-factor.tsx';

export function AccountPage() {
  const { state } = useSession();
  const account = useAccount();
  if (state === 'open') {
    return (
      <Page title="Your account">
        <Alert color="gray" title="Nobody is signed in">
          In development mode the dashboard opens without an account. It asks for one when the policy of development
          mode is deleted, and in production mode.
        </Alert>
      </Page>
    );
  }
  return (
    <Page title="Your account" about={account?.username ?? account?.email ?? account?.id}>
      <Stack>
        <SecondFactor />
        <Passkeys />
      </Stack>
    </Page>
  );
}
