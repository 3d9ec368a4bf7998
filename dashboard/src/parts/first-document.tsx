/** One command that creates a first document, whose event appears here automatically. */
import { Badge, Button, Card, Code, Group, Stack, Text } from '@mantine/core';
import { useEffect, useState } from 'react';
import { type EventState, type LoggedEvent, useEvents } from '../api/live.ts';
import { SERVER } from '../api/server.ts';
import { session } from '../api/session.ts';
import { Copyable } from './copy.tsx';
import { Failure } from './failure.tsx';
import { When } from './when.tsx';

/** The token in the command is replaced in time: it expires after ten minutes. */
const RENEW_MS = 60_000;
const MASKED = '••••••';
const MAX_SHOWN = 5;

export function FirstDocument() {
  const token = useAccessToken();
  const [shown, setShown] = useState(false);
  const [events, setEvents] = useState<readonly LoggedEvent[]>([]);
  const [status, setStatus] = useState<EventState['status']>('connecting');
  const [problem, setProblem] = useState<unknown>(null);
  useEvents({ types: ['*.created'] }, ({ events: more, ...reported }) => {
    setStatus(reported.status);
    setProblem(reported.problem);
    const documents = more.filter(({ type }) => !type.startsWith('system.'));
    if (documents.length > 0) setEvents((before) => [...documents.toReversed(), ...before].slice(0, MAX_SHOWN));
  });
  const command = (secret: string) =>
    [
      `curl ${SERVER}/api/todos`,
      ...(token === null ? [] : [`-H 'authorization: Bearer ${secret}'`]),
      `-H 'content-type: application/json' -d '{"title":"Buy milk"}'`,
    ].join(' \\\n  ');
  return (
    <Stack gap="sm">
      <Text size="sm">
        Run this command anywhere. It creates the collection <Code>todos</Code> and its first document.
      </Text>
      <Copyable text={command(token ?? '')} shown={command(shown ? (token ?? '') : MASKED)} what="the command" />
      {token === null ? null : (
        <Group justify="space-between">
          <Text size="sm" c="dimmed">
            It contains your access token, which expires within ten minutes.
          </Text>
          <Button variant="subtle" size="compact-sm" onClick={() => setShown(!shown)}>
            {shown ? 'Hide the token' : 'Show the token'}
          </Button>
        </Group>
      )}
      {problem === null ? null : <Failure error={problem} />}
      <Card withBorder padding="sm" aria-live="polite">
        {events.length === 0 ? (
          <Text size="sm" c="dimmed">
            {status === 'live' ? 'Waiting for the first event …' : 'Connecting …'}
          </Text>
        ) : (
          <Stack gap="sm">
            {events.map((event) => (
              <Created key={event.id} event={event} />
            ))}
          </Stack>
        )}
      </Card>
    </Stack>
  );
}

function Created({ event }: { readonly event: LoggedEvent }) {
  return (
    <Stack gap={4}>
      <Group gap="xs">
        <Badge variant="default">{event.type}</Badge>
        <Text size="xs" c="dimmed">
          <When at={event.timestamp} />
        </Text>
      </Group>
      <Code block>{JSON.stringify(event.data, null, 2)}</Code>
    </Stack>
  );
}

/** The token of the user, as a request would send it now; null without sign-in. */
function useAccessToken(): string | null {
  const [token, setToken] = useState<string | null>(null);
  useEffect(() => {
    const renew = () => void Promise.resolve(session.source(null)).then(setToken, () => undefined);
    renew();
    const timer = setInterval(renew, RENEW_MS);
    return () => clearInterval(timer);
  }, []);
  return token;
}
