/** The user's authenticator app: enrolled, removed, its recovery codes regenerated. */
import { Button, Card, Group, Stack, Text, Title } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { request } from '../../api/client.ts';
import { useResource } from '../../api/live.ts';
import { Confirm } from '../../parts/confirm.tsx';
import { Failure } from '../../parts/failure.tsx';
import { Loading } from '../../parts/page.tsx';
import { useAction } from '../../parts/use-action.ts';
import { When } from '../../parts/when.tsx';
import { type Factor, type FactorEnrollment, newRecoveryCodes } from './mfa.ts';
import { SetUpFactor } from './mfa-enrollment.tsx';
import { RecoveryCodes } from './recovery-codes.tsx';

/** From this number on the user is advised to generate new ones. */
const FEW = 3;

export function Mfa() {
  const { data: factor, error: unread, refetch } = useResource<Factor>('/auth/mfa');
  const cache = useQueryClient();
  const { busy, error, run } = useAction();
  const [begun, setBegun] = useState<FactorEnrollment | null>(null);
  const [codes, setCodes] = useState<readonly string[] | null>(null);
  const [requested, setRequested] = useState<'remove' | 'codes' | null>(null);
  // An administrator who needs a factor can reach more or fewer pages from now on.
  const changed = () => cache.invalidateQueries();
  const begin = async () => setBegun((await request<FactorEnrollment>('POST', '/auth/mfa/totp')).body);

  if (unread !== null) return <Failure error={unread} again={() => void refetch()} />;
  if (factor === undefined) return <Loading rows={3} />;
  return (
    <Card withBorder maw={640}>
      <Stack gap="sm">
        <Title order={2} size="h4">
          Authenticator app
        </Title>
        {factor.since === null ? (
          <>
            <Text size="sm">
              The app shows a new code every 30 seconds. Each sign-in then requires a code as well as your password.
            </Text>
            <Group>
              <Button loading={busy} onClick={() => void run(begin)}>
                Set up app
              </Button>
            </Group>
          </>
        ) : (
          <>
            <Text size="sm">
              Each sign-in requires a code from your app. Set up: <When at={factor.since} />.
            </Text>
            <Text size="sm" fw={factor.recoveryCodes <= FEW ? 700 : 400}>
              {factor.recoveryCodes === 1 ? '1 recovery code is' : `${factor.recoveryCodes} recovery codes are`} left.
              {factor.recoveryCodes <= FEW ? ' Generate new ones before you run out.' : ''}
            </Text>
            <Group>
              <Button variant="default" onClick={() => setRequested('codes')}>
                Generate new recovery codes
              </Button>
              <Button variant="default" onClick={() => setRequested('remove')}>
                Remove app
              </Button>
            </Group>
          </>
        )}
        {error === null ? null : <Failure error={error} />}
      </Stack>
      {begun === null ? null : (
        <SetUpFactor
          begun={begun}
          onCodes={async (created) => {
            setBegun(null);
            setCodes(created);
            await changed();
          }}
          onClose={() => setBegun(null)}
        />
      )}
      {requested === 'codes' ? (
        <Confirm
          title="Generate new recovery codes"
          verb="Generate codes"
          harmless
          onConfirm={async () => {
            setCodes(await newRecoveryCodes());
            await changed();
          }}
          onClose={() => setRequested(null)}
        >
          Ten new codes replace your current ones, which stop working.
        </Confirm>
      ) : null}
      {requested === 'remove' ? (
        <Confirm
          title="Remove authenticator app"
          verb="Remove"
          onConfirm={async () => {
            await request('DELETE', '/auth/mfa/totp');
            await changed();
          }}
          onClose={() => setRequested(null)}
        >
          Your password or a provider is then enough to sign in. The recovery codes stop working.
        </Confirm>
      ) : null}
      {codes === null ? null : <RecoveryCodes codes={codes} onClose={() => setCodes(null)} />}
    </Card>
  );
}
