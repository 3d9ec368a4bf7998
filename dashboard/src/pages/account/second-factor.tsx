/** The authenticator app of the person's own account: set up, removed, its recovery codes made anew. */
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
import { type BegunFactor, type Factor, newRecoveryCodes } from './factor.ts';
import { RecoveryCodes } from './recovery-codes.tsx';
import { SetUpFactor } from './set-up-factor.tsx';

/** From so few on the person is told to make new ones. */
const FEW = 3;

export function SecondFactor() {
  const { data: factor, error: unread, refetch } = useResource<Factor>('/auth/mfa');
  const cache = useQueryClient();
  const { busy, error, run } = useAction();
  const [begun, setBegun] = useState<BegunFactor | null>(null);
  const [codes, setCodes] = useState<readonly string[] | null>(null);
  const [asked, setAsked] = useState<'remove' | 'codes' | null>(null);
  // An owner who must have a factor reaches more or fewer pages from now on.
  const changed = () => cache.invalidateQueries();
  const begin = async () => setBegun((await request<BegunFactor>('POST', '/auth/mfa/totp')).body);

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
              With an app that shows a code every 30 seconds, your password alone opens nothing: each sign-in asks for a
              code, too.
            </Text>
            <Group>
              <Button loading={busy} onClick={() => void run(begin)}>
                Set up an app
              </Button>
            </Group>
          </>
        ) : (
          <>
            <Text size="sm">
              Each sign-in asks for a code of your app. Set up: <When at={factor.since} />.
            </Text>
            <Text size="sm" fw={factor.recoveryCodes <= FEW ? 700 : 400}>
              {factor.recoveryCodes === 1 ? '1 recovery code is' : `${factor.recoveryCodes} recovery codes are`} left.
              {factor.recoveryCodes <= FEW ? ' Make new ones before you need them.' : ''}
            </Text>
            <Group>
              <Button variant="default" onClick={() => setAsked('codes')}>
                New recovery codes
              </Button>
              <Button variant="default" onClick={() => setAsked('remove')}>
                Remove the app
              </Button>
            </Group>
          </>
        )}
        {error === null ? null : <Failure error={error} />}
      </Stack>
      {begun === null ? null : (
        <SetUpFactor
          begun={begun}
          onCodes={async (made) => {
            setBegun(null);
            setCodes(made);
            await changed();
          }}
          onClose={() => setBegun(null)}
        />
      )}
      {asked === 'codes' ? (
        <Confirm
          title="Make new recovery codes"
          verb="Make new codes"
          harmless
          onConfirm={async () => {
            setCodes(await newRecoveryCodes());
            await changed();
          }}
          onClose={() => setAsked(null)}
        >
          Ten new codes take the place of those that you have. The old ones stop working.
        </Confirm>
      ) : null}
      {asked === 'remove' ? (
        <Confirm
          title="Remove the authenticator app"
          verb="Remove"
          onConfirm={async () => {
            await request('DELETE', '/auth/mfa/totp');
            await changed();
          }}
          onClose={() => setAsked(null)}
        >
          From then on your password alone, or a provider, signs in to your account. The recovery codes stop working.
        </Confirm>
      ) : null}
      {codes === null ? null : <RecoveryCodes codes={codes} onClose={() => setCodes(null)} />}
    </Card>
  );
}
