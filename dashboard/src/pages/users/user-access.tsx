/** How an account signs in: its identities at providers, its second factor, its passkeys, and a letter for a new password. */
import { Button, Group, List, Stack, Text, Title } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { IconMail } from '@tabler/icons-react';
import { request } from '../../api/client.ts';
import { useResource } from '../../api/live.ts';
import { Failure } from '../../parts/failure.tsx';
import { useAction } from '../../parts/use-action.ts';
import { When } from '../../parts/when.tsx';
import { type ListedIdentity, type ListedUser, USER_EVENTS } from './accounts.ts';
import { UserFactor } from './user-factor.tsx';
import { UserPasskeys } from './user-passkeys.tsx';

interface UserAccessProps {
  readonly user: ListedUser;
  readonly path: string;
  readonly mayChange: boolean;
}

export function UserAccess({ user, path, mayChange }: UserAccessProps) {
  const { data: identities = [] } = useResource<readonly ListedIdentity[]>(`${path}/identities`, USER_EVENTS);
  const { busy, error, run } = useAction();
  const { email } = user;
  const isOpen = email !== null && !user.disabled;
  const why = email === null ? 'The account has no e-mail address' : 'The account is disabled';
  return (
    <Stack gap="sm">
      <Title order={3} size="h4">
        Sign-in
      </Title>
      {identities.length === 0 ? (
        <Text size="sm" c="dimmed">
          No identity provider is joined to this account.
        </Text>
      ) : (
        <List size="sm">
          {identities.map(({ provider, subject, joinedAt }) => (
            <List.Item key={provider}>
              {provider}: {subject}, joined <When at={joinedAt} />
            </List.Item>
          ))}
        </List>
      )}
      <UserFactor user={user} path={path} mayChange={mayChange} />
      <UserPasskeys user={user} path={path} mayChange={mayChange} />
      <Group gap="sm">
        <Button
          variant="default"
          leftSection={<IconMail size={16} />}
          loading={busy}
          disabled={!isOpen}
          {...(isOpen ? {} : { title: why })}
          onClick={() => void run(() => sendResetLetter(email ?? ''))}
        >
          Send a letter for a new password
        </Button>
        {isOpen ? null : (
          <Text size="xs" c="dimmed">
            {why}, so no letter can be sent.
          </Text>
        )}
      </Group>
      {error === null ? null : <Failure error={error} />}
    </Stack>
  );
}

/** Asks for a letter whose link lets the owner of the address choose a password. */
export async function sendResetLetter(email: string): Promise<void> {
  await request('POST', '/auth/reset', { body: { email } });
  notifications.show({
    title: 'A letter is on its way',
    message: `To ${email}: its link lets the person choose a password. An account gets one letter a minute at most.`,
    color: 'teal',
  });
}
