/** The open sessions of an account, each on one device, and ending them. */
import { Badge, Button, Card, Group, Stack, Text, Title } from '@mantine/core';
import { request } from '../../api/client.ts';
import { useResource } from '../../api/live.ts';
import { Failure } from '../../parts/failure.tsx';
import { useAction } from '../../parts/use-action.ts';
import { When } from '../../parts/when.tsx';
import type { ListedSession } from './accounts.ts';

export function UserSessions({ path, mayChange }: { readonly path: string; readonly mayChange: boolean }) {
  const { data: sessions = [] } = useResource<readonly ListedSession[]>(`${path}/sessions`, ['system.session.*']);
  const { busy, error, run } = useAction();
  return (
    <Stack gap="sm">
      <Group justify="space-between">
        <Title order={3} size="h4">
          Sessions
        </Title>
        {mayChange && sessions.length > 1 ? (
          <Button
            size="xs"
            variant="default"
            loading={busy}
            onClick={() => void run(() => request('DELETE', `${path}/sessions`))}
          >
            End all {sessions.length}
          </Button>
        ) : null}
      </Group>
      {error === null ? null : <Failure error={error} />}
      {sessions.length === 0 ? (
        <Text size="sm" c="dimmed">
          Nobody is signed in to this account.
        </Text>
      ) : null}
      {sessions.map(({ id, address, agent, createdAt, usedAt, current }) => (
        <Card key={id} withBorder padding="sm">
          <Group justify="space-between" wrap="nowrap" align="flex-start">
            <Stack gap={2} miw={0}>
              <Group gap="xs">
                <Text size="sm" fw={500}>
                  {address}
                </Text>
                {current ? <Badge variant="default">This browser</Badge> : null}
              </Group>
              <Text size="xs" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
                {agent ?? 'Unknown program'}
              </Text>
              <Text size="xs" c="dimmed">
                Begun <When at={createdAt} />, renewed <When at={usedAt} never="not yet" />
              </Text>
            </Stack>
            {mayChange ? (
              <Button
                size="xs"
                variant="default"
                style={{ flexShrink: 0 }}
                aria-label={`End the session from ${address}`}
                onClick={() => void run(() => request('DELETE', `${path}/sessions/${encodeURIComponent(id)}`))}
              >
                End
              </Button>
            ) : null}
          </Group>
        </Card>
      ))}
    </Stack>
  );
}
