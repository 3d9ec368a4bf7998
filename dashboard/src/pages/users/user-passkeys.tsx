/** The passkeys of a user: their number, and their removal for a user who has lost the devices. */
import { Button, Group, Text } from '@mantine/core';
import { useState } from 'react';
import { request } from '../../api/client.ts';
import { useResource } from '../../api/live.ts';
import { Confirm } from '../../parts/confirm.tsx';
import { type ListedUser, nameOf } from './users.ts';

interface UserPasskeysProps {
  readonly user: ListedUser;
  readonly path: string;
  readonly mayChange: boolean;
}

export function UserPasskeys({ user, path, mayChange }: UserPasskeysProps) {
  const [isRequested, setRequested] = useState(false);
  const address = `${path}/passkeys`;
  const { data } = useResource<{ readonly passkeys: readonly object[] }>(address, ['system.mfa.*']);
  const count = data?.passkeys.length ?? 0;
  if (count === 0) return null;
  return (
    <Group gap="sm">
      <Text size="sm">{count === 1 ? '1 passkey is' : `${count} passkeys are`} registered for this user.</Text>
      {mayChange ? (
        <Button variant="default" onClick={() => setRequested(true)}>
          Remove passkeys
        </Button>
      ) : null}
      {isRequested ? (
        <Confirm
          title={`Remove the passkeys of ${nameOf(user)}`}
          verb="Remove"
          onConfirm={() => request('DELETE', address)}
          onClose={() => setRequested(false)}
        >
          For a user who has lost the devices. The password or a provider is then needed to sign in.
        </Confirm>
      ) : null}
    </Group>
  );
}
