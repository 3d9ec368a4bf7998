/** The sign-in: a page at the start, and over the page when a session has ended elsewhere. */
import { Button, Center, Modal, Paper, PasswordInput, Stack, Text, TextInput, Title } from '@mantine/core';
import { useState } from 'react';
import { useSession } from '../api/live.ts';
import { session } from '../api/session.ts';
import { Failure } from '../parts/failure.tsx';

/** @param over true over a page that goes on where it was */
export function SignIn({ over = false }: { readonly over?: boolean }) {
  const { beginning } = useSession();
  if (over) {
    return (
      <Modal opened onClose={() => undefined} withCloseButton={false} centered title="Your session has ended">
        <SignInForm note="Sign in again to go on where you were." />
      </Modal>
    );
  }
  return (
    <Center mih="100vh" p="md" component="main">
      <title>Sign in · Millrace</title>
      <Paper withBorder p="xl" w={400} maw="100%">
        <Title order={1} size="h3" mb="md">
          Sign in to Millrace
        </Title>
        {beginning?.needsOwner === true ? (
          <Text size="sm">
            This installation has no owner yet. Open the set-up link that the program printed when it started, or make
            another one with the command <code>millrace owner --link</code>.
          </Text>
        ) : (
          <SignInForm />
        )}
      </Paper>
    </Center>
  );
}

function SignInForm({ note }: { readonly note?: string }) {
  const [username, setUsername] = useState('');
  const [password, setPassword] = useState('');
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const signIn = async () => {
    setBusy(true);
    setError(null);
    try {
      await session.signIn({ username, password });
    } catch (problem) {
      setError(problem);
      setBusy(false);
    }
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void signIn();
      }}
    >
      <Stack>
        {note === undefined ? null : <Text size="sm">{note}</Text>}
        <TextInput
          label="User name or e-mail address"
          autoComplete="username"
          required
          value={username}
          onChange={({ currentTarget }) => setUsername(currentTarget.value)}
          data-autofocus
        />
        <PasswordInput
          label="Password"
          autoComplete="current-password"
          required
          value={password}
          onChange={({ currentTarget }) => setPassword(currentTarget.value)}
        />
        {error === null ? null : <Failure error={error} />}
        <Button type="submit" loading={busy}>
          Sign in
        </Button>
      </Stack>
    </form>
  );
}
