/** Re-authentication: requires the password or a code again, before actions that weaken a user or the instance. */
import { Anchor, Button, Group, Modal, PasswordInput, Stack, Text, TextInput } from '@mantine/core';
import { useEffect, useState, useSyncExternalStore } from 'react';
import { request } from '../api/client.ts';
import { reauthentication } from '../api/reauthentication.ts';
import { useAccount } from '../api/rights.ts';
import { session } from '../api/session.ts';
import { Failure } from '../parts/failure.tsx';
import { useAction } from '../parts/use-action.ts';

export function Reauthentication() {
  const isRequested = useSyncExternalStore(reauthentication.subscribe, () => reauthentication.isRequested);
  useEffect(() => {
    // A dialog below would get the key first, and close instead of this one.
    const leave = (event: KeyboardEvent) => {
      if (event.key !== 'Escape' || !reauthentication.isRequested) return;
      event.stopImmediatePropagation();
      reauthentication.response(false);
    };
    window.addEventListener('keydown', leave, { capture: true });
    return () => window.removeEventListener('keydown', leave, { capture: true });
  }, []);
  return isRequested ? <Query /> : null;
}

function Query() {
  const hasFactor = useAccount()?.secondFactor === true;
  const [byPassword, setByPassword] = useState(!hasFactor);
  const [typed, setTyped] = useState('');
  const { busy, error, run } = useAction();
  const prove = async () => {
    await request('POST', '/auth/reauthenticate', { body: byPassword ? { password: typed } : { code: typed } });
    reauthentication.response(true);
  };
  return (
    <Modal
      opened
      onClose={() => reauthentication.response(false)}
      title="Confirm your identity"
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
            You signed in more than 15 minutes ago. This action changes sign-in or access, so you need to sign in again.
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
              description="Six digits from your authenticator app, or a recovery code"
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
              and sign in again with your provider.
            </Text>
          )}
          {error === null ? null : <Failure error={error} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={() => reauthentication.response(false)}>
              Cancel
            </Button>
            <Button type="submit" loading={busy}>
              Continue
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
