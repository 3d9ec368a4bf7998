/** Disables a user, which can be undone, or deletes it, which cannot. */
import { Button, Group, Stack, Text, Title } from '@mantine/core';
import { useState } from 'react';
import { request } from '../../api/client.ts';
import { Confirm } from '../../parts/confirm.tsx';
import { Failure } from '../../parts/failure.tsx';
import { useAction } from '../../parts/use-action.ts';
import { type ListedUser, nameOf } from './users.ts';

interface UserEndProps {
  readonly user: ListedUser;
  readonly path: string;
  readonly onDeleted: () => void;
}

export function UserEnd({ user, path, onDeleted }: UserEndProps) {
  const [isRequested, setRequested] = useState(false);
  const { busy, error, run } = useAction();
  const { disabled } = user;
  return (
    <Stack gap="sm">
      <Title order={3} size="h4">
        Disable or delete
      </Title>
      <Text size="sm" c="dimmed">
        {disabled
          ? 'The user cannot sign in until they are enabled again.'
          : 'Disabling ends all sessions and blocks sign-in. The user is kept and can be enabled again.'}
      </Text>
      <Group>
        <Button
          variant="default"
          loading={busy}
          onClick={() => void run(() => request('PATCH', path, { body: { disabled: !disabled } }))}
        >
          {disabled ? 'Enable' : 'Disable'}
        </Button>
        <Button variant="outline" color="red" onClick={() => setRequested(true)}>
          Delete
        </Button>
      </Group>
      {error === null ? null : <Failure error={error} />}
      {isRequested ? (
        <Confirm
          title={`Delete ${nameOf(user)}`}
          verb="Delete"
          name={nameOf(user)}
          onConfirm={async () => {
            await request('DELETE', path);
            onDeleted();
          }}
          onClose={() => setRequested(false)}
        >
          This deletes the user, the password and all sessions; it cannot be undone. Documents that the user created are
          kept. To block sign-in only, disable the user instead.
        </Confirm>
      ) : null}
    </Stack>
  );
}
