/** The passkeys of an account: how many there are, and their removal for a person who has lost the devices. */
import { Button, Group, Text } from '@mantine/core';
import { useState } from 'react';
import { request } from '../../api/client.ts';
import { useResource } from '../../api/live.ts';
import { Confirm } from '../../parts/confirm.tsx';
import { type ListedUser, nameOf } from './accounts.ts';

interface UserPasskeysProps {
  readonly user: ListedUser;
  readonly path: string;
  readonly mayChange: boolean;
}

export function UserPasskeys({ user, path, mayChange }: UserPasskeysProps) {
  const [isAsked, setAsked] = useState(false);
  const address = `${path}/passkeys`;
  const { data } = useResource<{ readonly passkeys: readonly object[] }>(address, ['system.factor.*']);
  const count = data?.passkeys.length ?? 0;
  if (count === 0) return null;
  return (
    <Group gap="sm">
      <Text size="sm">{count === 1 ? '1 passkey signs' : `${count} passkeys sign`} in to this account.</Text>
      {mayChange ? (
        <Button variant="default" onClick={() => setAsked(true)}>
          Remove the passkeys
        </Button>
      ) : null}
      {isAsked ? (
        <Confirm
          title={`Remove the passkeys of ${nameOf(user)}`}
          verb="Remove"
          onConfirm={() => request('DELETE', address)}
          onClose={() => setAsked(false)}
        >
          For a person who has lost the devices. The account is then entered by its password, or by a provider.
        </Confirm>
      ) : null}
    </Group>
  );
}
