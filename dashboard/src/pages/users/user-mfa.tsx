/** The second factor of a user: whether there is one, and its removal after a loss. */
import { Button, Group, Text } from '@mantine/core';
import { useState } from 'react';
import { request } from '../../api/client.ts';
import { Confirm } from '../../parts/confirm.tsx';
import { type ListedUser, nameOf } from './users.ts';

interface UserFactorProps {
  readonly user: ListedUser;
  readonly path: string;
  readonly mayChange: boolean;
}

export function UserFactor({ user, path, mayChange }: UserFactorProps) {
  const [isRequested, setRequested] = useState(false);
  if (!user.secondFactor) {
    return (
      <Text size="sm" c="dimmed">
        No second factor is set up.
      </Text>
    );
  }
  return (
    <Group gap="sm">
      <Text size="sm">Sign-in also requires a code from an authenticator app.</Text>
      {mayChange ? (
        <Button variant="default" onClick={() => setRequested(true)}>
          Remove second factor
        </Button>
      ) : null}
      {isRequested ? (
        <Confirm
          title={`Remove the second factor of ${nameOf(user)}`}
          verb="Remove"
          onConfirm={() => request('DELETE', `${path}/mfa`)}
          onClose={() => setRequested(false)}
        >
          For a user who has lost the device and the recovery codes. The password or a provider is then enough to sign
          in, until a new factor is set up.
        </Confirm>
      ) : null}
    </Group>
  );
}
