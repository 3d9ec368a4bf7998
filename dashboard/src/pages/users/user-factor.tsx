/** The second factor of an account: whether there is one, and its removal for a person who has lost it. */
import { Button, Group, Text } from '@mantine/core';
import { useState } from 'react';
import { request } from '../../api/client.ts';
import { Confirm } from '../../parts/confirm.tsx';
import { type ListedUser, nameOf } from './accounts.ts';

interface UserFactorProps {
  readonly user: ListedUser;
  readonly path: string;
  readonly mayChange: boolean;
}

export function UserFactor({ user, path, mayChange }: UserFactorProps) {
  const [isAsked, setAsked] = useState(false);
  if (!user.secondFactor) {
    return (
      <Text size="sm" c="dimmed">
        No second factor is set up.
      </Text>
    );
  }
  return (
    <Group gap="sm">
      <Text size="sm">Sign-in asks for a code of an authenticator app, too.</Text>
      {mayChange ? (
        <Button variant="default" onClick={() => setAsked(true)}>
          Remove the second factor
        </Button>
      ) : null}
      {isAsked ? (
        <Confirm
          title={`Remove the second factor of ${nameOf(user)}`}
          verb="Remove"
          onConfirm={() => request('DELETE', `${path}/mfa`)}
          onClose={() => setAsked(false)}
        >
          For a person who has lost the device and the recovery codes. From then on the password alone, or a provider,
          signs in to the account, until a new factor is set up.
        </Confirm>
      ) : null}
    </Group>
  );
}
