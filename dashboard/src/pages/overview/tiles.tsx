/** The state of the server, in numbers. */
import { Card, SimpleGrid, Skeleton, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { counted, numberText } from '../../parts/numbers.ts';
import { PageLink } from '../../parts/page-link.tsx';
import type { Facts, ServerState } from './facts.ts';

interface Tile {
  readonly name: string;
  readonly value: string;
  readonly note: ReactNode;
}

export function Tiles(facts: Facts) {
  const { state } = facts;
  if (state === undefined) return <Skeleton height={88} />;
  const { consumers } = state.events;
  return (
    <>
      <SimpleGrid cols={{ base: 2, md: 3, xl: 6 }} spacing="sm" component="ul" p={0} m={0}>
        {tilesOf(facts, state).map(({ name, value, note }) => (
          <Card key={name} withBorder padding="sm" component="li" style={{ listStyle: 'none' }}>
            <Text size="sm" c="dimmed">
              {name}
            </Text>
            <Text size="lg" fw={600} style={{ overflowWrap: 'anywhere' }}>
              {value}
            </Text>
            <Text size="xs" c="dimmed">
              {note}
            </Text>
          </Card>
        ))}
      </SimpleGrid>
      {consumers.length === 0 ? null : (
        <Text size="sm" c="dimmed">
          Event consumers: {consumers.map(({ name, behind }) => `${name}, ${numberText(behind)} behind`).join('; ')}.
        </Text>
      )}
    </>
  );
}

function tilesOf({ ready, endpoints, plugins }: Facts, { events, realtime }: ServerState): Tile[] {
  const behind = Math.max(events.tail.behind, ...events.consumers.map((one) => one.behind));
  const pending = endpoints.reduce((sum, { health }) => sum + health.pending, 0);
  const functions = plugins.flatMap((plugin) => plugin.functions);
  const failed = functions.reduce((sum, { runs }) => sum + runs.failed, 0);
  const isHere = events.recorder.status === 'recording';
  return [
    { name: 'Server', value: ready === false ? 'Not ready' : 'Ready', note: 'The server and its database respond.' },
    {
      name: 'Recorder',
      value: events.recorder.holder === null ? 'Not recording' : 'Recording',
      note: isHere
        ? 'In this process.'
        : events.recorder.holder === null
          ? 'Events are waiting.'
          : 'In another process.',
    },
    {
      name: 'Events in the log',
      value: numberText(events.log.rows),
      note:
        behind === 0
          ? `${counted(events.consumers.length, 'consumer')} up to date.`
          : `Consumers are ${numberText(behind)} events behind.`,
    },
    {
      name: 'Connections',
      value: numberText(realtime.connections),
      note: 'WebSockets and streams, this process.',
    },
    {
      name: 'Pending deliveries',
      value: numberText(pending),
      note: endpoints.length === 0 ? 'No webhooks yet.' : `To ${counted(endpoints.length, 'endpoint')}.`,
    },
    {
      name: 'Functions',
      value: numberText(functions.length),
      note: functions.length === 0 ? 'No plugins yet.' : <FailedRuns failed={failed} />,
    },
  ];
}

function FailedRuns({ failed }: { readonly failed: number }) {
  if (failed === 0) return 'No failed runs in 7 days.';
  return (
    <PageLink to="/functions" search={{ tab: 'runs', state: 'failed' }} inherit>
      {counted(failed, 'failed run')} in 7 days
    </PageLink>
  );
}
