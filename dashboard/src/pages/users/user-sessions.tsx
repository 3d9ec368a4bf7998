/** The open sessions of a user, each on one device, and ending them. */
import { Badge, Button, Card, Group, Stack, Text, Title } from '@mantine/core';
import { request } from '../../api/client.ts';
import { useResource } from '../../api/live.ts';
import { Failure } from '../../parts/failure.tsx';
import { useAction } from '../../parts/use-action.ts';
import { When } from '../../parts/when.tsx';
import type { ListedSession } from './users.ts';

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
          No sessions.
        </Text>
      ) : null}
      {sessions.map(({ id, ip, userAgent, createdAt, lastUsedAt, current }) => (
        <Card key={id} withBorder padding="sm">
          <Group justify="space-between" wrap="nowrap" align="flex-start">
            <Stack gap={2} miw={0}>
              <Group gap="xs">
                <Text size="sm" fw={500}>
                  {ip}
                </Text>
                {current ? <Badge variant="default">This browser</Badge> : null}
              </Group>
              <Text size="xs" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
                {userAgent ?? 'Unknown client'}
              </Text>
              <Text size="xs" c="dimmed">
                Started <When at={createdAt} />, last used <When at={lastUsedAt} never="never" />
              </Text>
            </Stack>
            {mayChange ? (
              <Button
                size="xs"
                variant="default"
                style={{ flexShrink: 0 }}
                aria-label={`End the session from ${ip}`}
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
