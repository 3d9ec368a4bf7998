/** Signing in by a letter: asking for it, typing its code, and the button that its link leads to. */
import { Button, Center, Paper, Stack, Text, TextInput, Title } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { DASHBOARD, SERVER } from '../api/server.ts';
import { session } from '../api/session.ts';
import { withoutSession } from '../api/without-session.ts';
import { Failure } from '../parts/failure.tsx';
import { useAction } from '../parts/use-action.ts';
import { SecondStep, ticketOf } from './second-step.tsx';

/** The page that the link of a letter opens. */
export const LINK_PATH = '/link';

/** What stood after `#` when the page was opened, until it is used up. In memory only. */
let fromLink = location.pathname === DASHBOARD + LINK_PATH ? location.hash.slice(1) : '';
if (fromLink !== '') history.replaceState(null, '', location.pathname);

/** Asks for a letter; its link opens {@link LINK_PATH} in this browser. */
export async function askForLink(email: string): Promise<void> {
  const redirect = `${SERVER}/dashboard${LINK_PATH}`;
  await withoutSession.request('POST', '/auth/link', { body: { email, redirect } });
}

interface LetterCodeProps {
  readonly email: string;
  /** The person signs in otherwise. */
  readonly onAgain: () => void;
}

export function LetterCode({ email, onAgain }: LetterCodeProps) {
  const [code, setCode] = useState('');
  const { busy, error, run } = useAction();
  const ticket = ticketOf(error);
  if (ticket !== null) return <SecondStep ticket={ticket} onAgain={onAgain} />;
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void run(() => session.signIn({ email, code }));
      }}
    >
      <Stack>
        <Text size="sm" role="status">
          If {email} is the address of an account, a letter is on its way. Open its link in this browser, or type its
          code.
        </Text>
        <TextInput
          label="Code of the letter"
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
          Begin again
        </Button>
      </Stack>
    </form>
  );
}

/** A button, because programs that look for malware open the links of letters: only a person presses it. */
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
            <SecondStep ticket={ticket} onAgain={leave} onDone={leave} />
          ) : (
            <>
              <Text size="sm">
                {token === ''
                  ? 'The link is not complete. Open it once more as it stands in the letter.'
                  : 'You asked for this link by e-mail. It works once.'}
              </Text>
              {error === null ? null : <Failure error={error} />}
              {token === '' ? null : (
                <Button loading={busy} onClick={() => void enter()}>
                  Sign in
                </Button>
              )}
              <Button variant="subtle" onClick={leave}>
                Sign in otherwise
              </Button>
            </>
          )}
        </Stack>
      </Paper>
    </Center>
  );
}
