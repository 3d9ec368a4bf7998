/** Sign-in with a magic link: requesting it, entering its code, and the button that its link opens. */
import { Button, Center, Paper, Stack, Text, TextInput, Title } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { DASHBOARD, SERVER } from '../api/server.ts';
import { session } from '../api/session.ts';
import { withoutSession } from '../api/without-session.ts';
import { Failure } from '../parts/failure.tsx';
import { useAction } from '../parts/use-action.ts';
import { MfaGate, ticketOf } from './mfa-challenge.tsx';

/** The page that the link of the e-mail opens. */
export const LINK_PATH = '/link';

/** The fragment of the URL when the page was opened, until it is used. In memory only. */
let fromLink = location.pathname === DASHBOARD + LINK_PATH ? location.hash.slice(1) : '';
if (fromLink !== '') history.replaceState(null, '', location.pathname);

/** Requests an e-mail; its link opens {@link LINK_PATH} in this browser. */
export async function sendMagicLink(email: string): Promise<void> {
  const redirect = `${SERVER}/dashboard${LINK_PATH}`;
  await withoutSession.request('POST', '/auth/magic-link', { body: { email, redirect } });
}

interface EmailCodeProps {
  readonly email: string;
  /** The user chooses another sign-in method. */
  readonly onAgain: () => void;
}

export function EmailCode({ email, onAgain }: EmailCodeProps) {
  const [code, setCode] = useState('');
  const { busy, error, run } = useAction();
  const ticket = ticketOf(error);
  if (ticket !== null) return <MfaGate ticket={ticket} onAgain={onAgain} />;
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void run(() => session.signIn({ email, code }));
      }}
    >
      <Stack>
        <Text size="sm" role="status">
          If {email} belongs to a user, an e-mail has been sent. Open its link in this browser, or enter its code.
        </Text>
        <TextInput
          label="Code from the e-mail"
          inputMode="numeric"
          autoComplete="one-time-code"
          required
          minLength={8}
          maxLength={12}
          value={code}
          onChange={({ currentTarget }) => setCode(currentTarget.value)}
          data-autofocus
        />
        {error === null ? null : <Failure error={error} />}
        <Button type="submit" loading={busy}>
          Sign in
        </Button>
        <Button variant="subtle" onClick={onAgain}>
          Start over
        </Button>
      </Stack>
    </form>
  );
}

/** A button, because malware scanners open the links of e-mails: only a person presses it. */
export function LinkPage() {
  const navigate = useNavigate();
  const [token, setToken] = useState(fromLink);
  const { busy, error, run } = useAction();
  const ticket = ticketOf(error);
  const leave = () => {
    fromLink = '';
    setToken('');
    void navigate({ to: '/', replace: true });
  };
  const enter = async () => {
    if (await run(() => session.signIn({ linkToken: token }))) leave();
  };
  return (
    <Center mih="100vh" p="md" component="main">
      <title>Sign in · Millrace</title>
      <Paper withBorder p="xl" w={400} maw="100%">
        <Stack>
          <Title order={1} size="h3">
            Sign in to Millrace
          </Title>
          {ticket !== null ? (
            <MfaGate ticket={ticket} onAgain={leave} onDone={leave} />
          ) : (
            <>
              <Text size="sm">
                {token === ''
                  ? 'The link is incomplete. Open it exactly as in the e-mail.'
                  : 'You requested this link by e-mail. It works once.'}
              </Text>
              {error === null ? null : <Failure error={error} />}
              {token === '' ? null : (
                <Button loading={busy} onClick={() => void enter()}>
                  Sign in
                </Button>
              )}
              <Button variant="subtle" onClick={leave}>
                Use another method
              </Button>
            </>
          )}
        </Stack>
      </Paper>
    </Center>
  );
}
