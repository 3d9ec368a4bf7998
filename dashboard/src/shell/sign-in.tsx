/** The sign-in: a page at the start, and over the page when a session has ended elsewhere. */
import {
  Anchor,
  Button,
  Center,
  Divider,
  Modal,
  Paper,
  PasswordInput,
  Stack,
  Text,
  TextInput,
  Title,
} from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useSession } from '../api/live.ts';
import { canUsePasskeys, provePasskey } from '../api/passkeys.ts';
import { returned, signInBy, type UsableProvider, type WaysIn, waysIn } from '../api/provider-sign-in.ts';
import { SERVER } from '../api/server.ts';
import { session } from '../api/session.ts';
import { Failure } from '../parts/failure.tsx';
import { useAction } from '../parts/use-action.ts';
import { EmailCode, sendMagicLink } from './magic-link.tsx';
import { MfaGate, ticketOf } from './mfa-challenge.tsx';

/** @param over true over a page that continues where it was */
export function SignIn({ over = false }: { readonly over?: boolean }) {
  const { beginning } = useSession();
  if (over) {
    return (
      <Modal opened onClose={() => undefined} withCloseButton={false} centered title="Your session has ended">
        <SignInForm note="Sign in again to continue." />
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
        {beginning?.needsAdmin === true ? (
          <Text size="sm">
            This instance has no administrator yet. Open the setup link that the program printed at start, or create
            another one with the command <code>millrace admin --setup-link</code>.
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
  const { busy, error, run } = useAction(returned.problem);
  const { data: ways } = useQuery({ queryKey: ['/auth/providers'], queryFn: waysIn });
  const [requested, setRequested] = useState<string | null>(null);
  const ticket = ticketOf(error);
  const enterByPasskey = async () => session.signIn({ credential: await provePasskey() });
  const requestForEmail = async () => {
    if (!username.includes('@')) throw new Error('Enter your e-mail address first');
    await sendMagicLink(username.trim());
    setRequested(username.trim());
  };
  if (requested !== null) return <EmailCode email={requested} onAgain={() => setRequested(null)} />;
  if (ticket !== null) return <MfaGate ticket={ticket} onAgain={() => void run(async () => undefined)} />;
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void run(() => session.signIn({ username, password }));
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
        {canUsePasskeys ? (
          <Button variant="default" disabled={busy} onClick={() => void run(enterByPasskey)}>
            Sign in with a passkey
          </Button>
        ) : null}
        {ways?.magicLink === true ? (
          <Button variant="default" disabled={busy} onClick={() => void run(requestForEmail)}>
            Send magic link
          </Button>
        ) : null}
        <Providers providers={ways?.providers ?? []} />
      </Stack>
    </form>
  );
}

/** The providers of this instance. A sign-in with one can only redirect to the public URL of the server. */
function Providers({ providers }: Pick<WaysIn, 'providers'>) {
  const [first] = providers;
  if (first === undefined) return null;
  const server = first.url.slice(0, first.url.lastIndexOf('/auth/'));
  return (
    <>
      <Divider label="or" />
      {server === SERVER ? (
        providers.map((provider) => <ProviderButton key={provider.name} {...provider} />)
      ) : (
        <Text size="sm">
          To sign in with {providers.map(({ title }) => title).join(', ')}, open{' '}
          <Anchor href={`${server}/dashboard`}>{server}</Anchor>, the public URL of this server.
        </Text>
      )}
    </>
  );
}

function ProviderButton({ name, title }: UsableProvider) {
  const [busy, setBusy] = useState(false);
  return (
    <Button
      variant="default"
      loading={busy}
      onClick={() => {
        setBusy(true);
        void signInBy(name);
      }}
    >
      Sign in with {title}
    </Button>
  );
}
