/** The first step: the account of the owner, by the secret of the link. */
import { Alert, Button, PasswordInput, Stack, Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import { createClient } from '../../../../client/client.ts';
import { useSession } from '../../api/live.ts';
import { SERVER } from '../../api/server.ts';
import { session } from '../../api/session.ts';
import { withoutSession } from '../../api/without-session.ts';
import { Failure } from '../../parts/failure.tsx';
import { useAction } from '../../parts/use-action.ts';

interface OwnerStepProps {
  /** The secret of the link; empty when the address had none. */
  readonly token: string;
  /** @param note what the first owner should look at */
  readonly onDone: (note: string | null) => void;
}

export function OwnerStep({ token, onDone }: OwnerStepProps) {
  const { state } = useSession();
  const [email, setEmail] = useState('');
  const [password, setPassword] = useState('');
  const { busy, error, run } = useAction();
  if (state === 'signed-in' && token === '') {
    return (
      <Stack align="flex-start">
        <Text size="sm">You are signed in, and there is an owner.</Text>
        <Button onClick={() => onDone(null)}>Next: address</Button>
      </Stack>
    );
  }
  if (token === '') {
    return (
      <Alert color="yellow" title="The link is not complete">
        Open the set-up link once more as the program printed it. <code>millrace owner --link</code> makes another one.
      </Alert>
    );
  }
  const become = async () => onDone(await becomeOwner(token, email, password));
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void run(become);
      }}
    >
      <Stack>
        <Text size="sm">The owner decides who may do what on this server. The link works once.</Text>
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
          Become the owner
        </Button>
      </Stack>
    </form>
  );
}

/**
 * Makes the owner and signs it in to the dashboard. The session that the set-up itself opens is ended: its refresh token
 * would have no place to be.
 * @throws Problem `link-unusable`, `password-refused`, `unique-violation`
 */
async function becomeOwner(token: string, email: string, password: string): Promise<string | null> {
  const { body } = await withoutSession.request('POST', '/setup', { body: { token, email, password } });
  const { accessToken, note = null } = body as Made;
  await session.signIn({ username: email, password });
  // When this fails, the session ends by itself in a month.
  const opened = createClient(SERVER, { token: accessToken });
  await opened.request('POST', '/auth/logout').catch(() => undefined);
  return note;
}

interface Made {
  readonly accessToken: string;
  readonly note?: string;
}
