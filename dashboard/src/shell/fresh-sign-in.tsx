/** Asks for the password or a code again, before what weakens an account or the installation. */
import { Anchor, Button, Group, Modal, PasswordInput, Stack, Text, TextInput } from '@mantine/core';
import { useEffect, useState, useSyncExternalStore } from 'react';
import { request } from '../api/client.ts';
import { freshSignIn } from '../api/fresh.ts';
import { useAccount } from '../api/rights.ts';
import { session } from '../api/session.ts';
import { Failure } from '../parts/failure.tsx';
import { useAction } from '../parts/use-action.ts';

export function FreshSignIn() {
  const isAsked = useSyncExternalStore(freshSignIn.subscribe, () => freshSignIn.isAsked);
  useEffect(() => {
    // A dialog below the question would hear the key first, and close in the place of the question.
    const leave = (event: KeyboardEvent) => {
      if (event.key !== 'Escape' || !freshSignIn.isAsked) return;
      event.stopImmediatePropagation();
      freshSignIn.answer(false);
    };
    window.addEventListener('keydown', leave, { capture: true });
    return () => window.removeEventListener('keydown', leave, { capture: true });
  }, []);
  return isAsked ? <Question /> : null;
}

function Question() {
  const hasFactor = useAccount()?.secondFactor === true;
  const [byPassword, setByPassword] = useState(!hasFactor);
  const [typed, setTyped] = useState('');
  const { busy, error, run } = useAction();
  const prove = async () => {
    await request('POST', '/auth/fresh', { body: byPassword ? { password: typed } : { code: typed } });
    freshSignIn.answer(true);
  };
  return (
    <Modal
      opened
      onClose={() => freshSignIn.answer(false)}
      title="Confirm that it is you"
      closeOnClickOutside={false}
      centered
    >
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void run(prove);
        }}
      >
        <Stack>
          <Text size="sm">
            You signed in more than 15 minutes ago. What you want to do changes who can get in, so it is asked for
            again.
          </Text>
          {byPassword ? (
            <PasswordInput
              label="Password"
              autoComplete="current-password"
              required
              value={typed}
              onChange={({ currentTarget }) => setTyped(currentTarget.value)}
              data-autofocus
            />
          ) : (
            <TextInput
              label="Code"
              description="Six digits of your authenticator app, or a recovery code"
              autoComplete="one-time-code"
              required
              minLength={6}
              maxLength={40}
              value={typed}
              onChange={({ currentTarget }) => setTyped(currentTarget.value)}
              data-autofocus
            />
          )}
          {hasFactor ? (
            <Anchor
              component="button"
              type="button"
              size="sm"
              ta="left"
              onClick={() => {
                setByPassword(!byPassword);
                setTyped('');
              }}
            >
              {byPassword ? 'Use a code instead' : 'Use the password instead'}
            </Anchor>
          ) : (
            <Text size="xs" c="dimmed">
              Without a password,{' '}
              <Anchor component="button" type="button" size="xs" onClick={() => void session.signOut()}>
                sign out
              </Anchor>{' '}
              and sign in again by your provider.
            </Text>
          )}
          {error === null ? null : <Failure error={error} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={() => freshSignIn.answer(false)}>
              Cancel
            </Button>
            <Button type="submit" loading={busy}>
              Go on
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
