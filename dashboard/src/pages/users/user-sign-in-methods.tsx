/** Sign-in methods of a user: identities at providers, second factor, passkeys, and an e-mail to reset the password. */
import { Button, Group, List, Stack, Text, Title } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { IconMail } from '@tabler/icons-react';
import { request } from '../../api/client.ts';
import { useResource } from '../../api/live.ts';
import { Failure } from '../../parts/failure.tsx';
import { useAction } from '../../parts/use-action.ts';
import { When } from '../../parts/when.tsx';
import { UserFactor } from './user-mfa.tsx';
import { UserPasskeys } from './user-passkeys.tsx';
import { type ListedIdentity, type ListedUser, USER_EVENTS } from './users.ts';

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
  const why = email === null ? 'The user has no e-mail address' : 'The user is disabled';
  return (
    <Stack gap="sm">
      <Title order={3} size="h4">
        Sign-in
      </Title>
      {identities.length === 0 ? (
        <Text size="sm" c="dimmed">
          No identity providers are linked to this user.
        </Text>
      ) : (
        <List size="sm">
          {identities.map(({ provider, subject, linkedAt }) => (
            <List.Item key={provider}>
              {provider}: {subject}, linked <When at={linkedAt} />
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
          onClick={() => void run(() => sendResetEmail(email ?? ''))}
        >
          Send password reset e-mail
        </Button>
        {isOpen ? null : (
          <Text size="xs" c="dimmed">
            {why}, so no e-mail can be sent.
          </Text>
        )}
      </Group>
      {error === null ? null : <Failure error={error} />}
    </Stack>
  );
}

/** Requests an e-mail whose link lets the user choose a password. */
export async function sendResetEmail(email: string): Promise<void> {
  await request('POST', '/auth/reset', { body: { email } });
  notifications.show({
    title: 'Password reset e-mail queued',
    message: `Its link lets the user at ${email} choose a password. At most one is sent per user and minute.`,
    color: 'teal',
  });
}
