/** The first step: creates the administrator with the secret of the link. */
import { Alert, Button, PasswordInput, Stack, Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import { createClient } from '../../../../client/client.ts';
import { useSession } from '../../api/live.ts';
import { SERVER } from '../../api/server.ts';
import { session } from '../../api/session.ts';
import { withoutSession } from '../../api/without-session.ts';
import { Failure } from '../../parts/failure.tsx';
import { useAction } from '../../parts/use-action.ts';

interface AdminStepProps {
  /** The secret of the link; empty when the URL had none. */
  readonly token: string;
  /** @param note what the first administrator should check */
  readonly onDone: (note: string | null) => void;
}

export function AdminStep({ token, onDone }: AdminStepProps) {
  const { state } = useSession();
  const [email, setEmail] = useState('');
  const [password, setPassword] = useState('');
  const { busy, error, run } = useAction();
  if (state === 'signed-in' && token === '') {
    return (
      <Stack align="flex-start">
        <Text size="sm">You are signed in, and there is an administrator.</Text>
        <Button onClick={() => onDone(null)}>Next: URL</Button>
      </Stack>
    );
  }
  if (token === '') {
    return (
      <Alert color="yellow" title="The link is incomplete">
        Open the setup link exactly as the program printed it. <code>millrace admin --setup-link</code> creates another
        one.
      </Alert>
    );
  }
  const become = async () => onDone(await becomeAdmin(token, email, password));
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void run(become);
      }}
    >
      <Stack>
        <Text size="sm">
          The administrator manages users, policies and settings of this server. The link works once.
        </Text>
        <TextInput
          label="E-mail address"
          type="email"
          autoComplete="username"
          required
          value={email}
          onChange={({ currentTarget }) => setEmail(currentTarget.value)}
          data-autofocus
        />
        <PasswordInput
          label="New password"
          description="Eight characters or more; a few words are best"
          autoComplete="new-password"
          required
          minLength={8}
          maxLength={256}
          value={password}
          onChange={({ currentTarget }) => setPassword(currentTarget.value)}
        />
        {error === null ? null : <Failure error={error} />}
        <Button type="submit" loading={busy}>
          Create administrator
        </Button>
      </Stack>
    </form>
  );
}

/**
 * Makes the administrator and signs it in to the dashboard. The session that the set-up itself opens is ended: its refresh token
 * would have no place to be.
 * @throws MillraceError `link-expired`, `weak-password`, `email-taken`
 */
async function becomeAdmin(token: string, email: string, password: string): Promise<string | null> {
  const { body } = await withoutSession.request('POST', '/setup', { body: { token, email, password } });
  const { accessToken, note = null } = body as Created;
  await session.signIn({ username: email, password });
  // When this fails, the session expires in a month.
  const opened = createClient(SERVER, { token: accessToken });
  await opened.request('POST', '/auth/logout').catch(() => undefined);
  return note;
}

interface Created {
  readonly accessToken: string;
  readonly note?: string;
}
