/** Disables an account, which can be undone, or deletes it, which cannot. */
import { Button, Group, Stack, Text, Title } from '@mantine/core';
import { useState } from 'react';
import { request } from '../../api/client.ts';
import { Confirm } from '../../parts/confirm.tsx';
import { Failure } from '../../parts/failure.tsx';
import { useAction } from '../../parts/use-action.ts';
import { type ListedUser, nameOf } from './accounts.ts';

interface UserEndProps {
  readonly user: ListedUser;
  readonly path: string;
  readonly onDeleted: () => void;
}

export function UserEnd({ user, path, onDeleted }: UserEndProps) {
  const [isAsked, setAsked] = useState(false);
  const { busy, error, run } = useAction();
  const { disabled } = user;
  return (
    <Stack gap="sm">
      <Title order={3} size="h4">
        End it
      </Title>
      <Text size="sm" c="dimmed">
        {disabled
          ? 'Nobody can sign in to this account until it is enabled again.'
          : 'Disabling ends all sessions and refuses sign-in. It keeps the account and can be undone.'}
      </Text>
      <Group>
        <Button
          variant="default"
          loading={busy}
          onClick={() => void run(() => request('PATCH', path, { body: { disabled: !disabled } }))}
        >
          {disabled ? 'Enable' : 'Disable'}
        </Button>
        <Button variant="outline" color="red" onClick={() => setAsked(true)}>
          Delete
        </Button>
      </Group>
      {error === null ? null : <Failure error={error} />}
      {isAsked ? (
        <Confirm
          title={`Delete ${nameOf(user)}`}
          verb="Delete"
          name={nameOf(user)}
          onConfirm={async () => {
            await request('DELETE', path);
            onDeleted();
          }}
          onClose={() => setAsked(false)}
        >
          The account, its password and its sessions are gone for good. Documents that it made stay. To keep the account
          without letting anybody in, disable it instead.
        </Confirm>
      ) : null}
    </Stack>
  );
}
