/** The second step of a sign-in: a code of the authenticator app, a recovery code, or a passkey. */
import { Button, Stack, Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import { MillraceError } from '../../../client/client.ts';
import { canUsePasskeys, provePasskey } from '../api/passkeys.ts';
import { session } from '../api/session.ts';
import { Failure } from '../parts/failure.tsx';
import { useAction } from '../parts/use-action.ts';

/** The ticket of a sign-in that requires a code; null for other failures. */
export function ticketOf(error: unknown): string | null {
  return error instanceof MillraceError && error.code === 'mfa-required' ? (error.problem.ticket ?? null) : null;
}

interface MfaChallengeProps {
  readonly ticket: string;
  /** The user starts over, such as with another user name. */
  readonly onAgain: () => void;
  /** Called when the session is open. */
  readonly onDone?: () => void;
}

export function MfaGate({ ticket, onAgain, onDone }: MfaChallengeProps) {
  const [code, setCode] = useState('');
  const { busy, error, run } = useAction();
  const prove = async (act: () => Promise<unknown>) => {
    if (await run(act)) onDone?.();
  };
  const proveByPasskey = async () => session.signIn({ ticket, credential: await provePasskey(ticket) });
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void prove(() => session.signIn({ ticket, code }));
      }}
    >
      <Stack>
        <Text size="sm">Enter a code from your authenticator app.</Text>
        <TextInput
          label="Code"
          description="Six digits from your authenticator app, or a recovery code"
          autoComplete="one-time-code"
          required
          minLength={6}
          maxLength={40}
          value={code}
          onChange={({ currentTarget }) => setCode(currentTarget.value)}
          data-autofocus
        />
        {error === null ? null : <Failure error={error} />}
        <Button type="submit" loading={busy}>
          Continue
        </Button>
        {canUsePasskeys ? (
          <Button variant="default" disabled={busy} onClick={() => void prove(proveByPasskey)}>
            Use a passkey
          </Button>
        ) : null}
        <Button variant="subtle" onClick={onAgain}>
          Start over
        </Button>
      </Stack>
    </form>
  );
}
