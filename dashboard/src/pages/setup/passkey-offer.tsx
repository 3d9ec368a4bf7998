/** The offer of a passkey at the end of the setup, when the server's URL is known. */
import { Button, Group, Text } from '@mantine/core';
import { useState } from 'react';
import { addPasskey, canUsePasskeys } from '../../api/passkeys.ts';
import { Failure } from '../../parts/failure.tsx';
import { useAction } from '../../parts/use-action.ts';

export function PasskeyOffer() {
  const [isAdded, setAdded] = useState(false);
  const { busy, error, run } = useAction();
  if (!canUsePasskeys) return null;
  const add = async () => {
    await addPasskey('');
    setAdded(true);
  };
  return (
    <>
      <Group justify="space-between">
        <Text size="sm">
          {isAdded
            ? 'You can now sign in with this device.'
            : 'Next time, sign in with this device instead of the password:'}
        </Text>
        {isAdded ? null : (
          <Button variant="default" loading={busy} onClick={() => void run(add)}>
            Add passkey
          </Button>
        )}
      </Group>
      {error === null ? null : <Failure error={error} />}
    </>
  );
}
