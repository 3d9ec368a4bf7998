/** One event: what changed, its actor, and its request and transaction. */
import { Button, Code, Drawer, Group, Stack, Table, Tabs, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import type { LoggedEvent } from '../../api/live.ts';
import { useSession } from '../../api/live.ts';
import { JsonDiff } from '../../parts/code/json-diff.tsx';
import { Copyable } from '../../parts/copy.tsx';
import { Failure } from '../../parts/failure.tsx';
import { Loading } from '../../parts/page.tsx';
import { PageLink } from '../../parts/page-link.tsx';
import { ActorOfEvent } from '../../parts/users/actor.tsx';
import { When } from '../../parts/when.tsx';
import { eventOf } from './history.ts';
import { numberOf, withNumber } from './position.ts';

interface EventDetailProps {
  readonly id: string;
  /** The event, if the list has it. */
  readonly known: LoggedEvent | undefined;
  readonly onClose: () => void;
  /** Shows only events with this value. */
  readonly onNarrow: (name: string, value: string) => void;
  /** Sends events after this position to a webhook again; null without the right to. */
  readonly onReplay: ((since: string) => void) | null;
}

export function EventDetail({ id, known, onClose, onNarrow, onReplay }: EventDetailProps) {
  const { turn } = useSession();
  const found = useQuery({
    queryKey: ['event', id, turn],
    queryFn: async () => (await eventOf(id)) ?? null,
    enabled: known === undefined,
  });
  const event = known ?? found.data;
  return (
    <Drawer opened onClose={onClose} position="right" size="lg" title={event?.type ?? `Event ${id}`}>
      {event !== undefined && event !== null ? (
        <Whole event={event} onNarrow={onNarrow} onReplay={onReplay} />
      ) : found.error !== null ? (
        <Failure error={found.error} />
      ) : event === null ? (
        <Text size="sm">The log no longer has this event, or you have no permission to read it.</Text>
      ) : (
        <Loading />
      )}
    </Drawer>
  );
}

interface WholeProps extends Pick<EventDetailProps, 'onNarrow' | 'onReplay'> {
  readonly event: LoggedEvent;
}

function Whole({ event, onNarrow, onReplay }: WholeProps) {
  const { id, timestamp, collection, documentId, revision, actor, request, transaction, data, before } = event;
  return (
    <Stack>
      <Table variant="vertical" layout="fixed">
        <Table.Tbody>
          <Row name="Time">
            <When at={timestamp} /> ({new Date(timestamp).toLocaleString()})
          </Row>
          <Row name="Position">
            <Code>{id}</Code>
          </Row>
          {documentId === null ? null : (
            <Row name="Document">
              {collection === null ? (
                <Code>{documentId}</Code>
              ) : (
                <PageLink to="/data/$collection" params={{ collection }} search={{ doc: documentId }} size="sm">
                  {documentId} in {collection}
                </PageLink>
              )}
              {revision === null ? '' : `, revision ${revision}`}
            </Row>
          )}
          <Row
            name="Actor"
            narrow={actor === null ? null : ['Only of this actor', () => onNarrow('actor.id', actor.id)]}
          >
            <ActorOfEvent event={event} />
          </Row>
          {request === null ? null : (
            <Row name="Request" narrow={['Only of this request', () => onNarrow('request', request)]}>
              <Code>{request}</Code>
            </Row>
          )}
          {transaction === null ? null : (
            <Row name="Transaction" narrow={['Only of this transaction', () => onNarrow('transaction', transaction)]}>
              <Code>{transaction}</Code>
            </Row>
          )}
        </Table.Tbody>
      </Table>
      <Tabs defaultValue="changes" keepMounted={false}>
        <Tabs.List>
          <Tabs.Tab value="changes">Changes</Tabs.Tab>
          <Tabs.Tab value="json">JSON</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="changes" pt="sm">
          {data === null && before === null ? (
            <Text size="sm">The log has no state before or after this event.</Text>
          ) : (
            <JsonDiff before={before} after={data} />
          )}
        </Tabs.Panel>
        <Tabs.Panel value="json" pt="sm">
          <Copyable text={JSON.stringify(event, null, 2)} what="the event" />
        </Tabs.Panel>
      </Tabs>
      {onReplay === null ? null : (
        <Group>
          <Button variant="default" onClick={() => onReplay(withNumber(id, numberOf(id) - 1))}>
            Replay from here
          </Button>
        </Group>
      )}
    </Stack>
  );
}

interface RowProps {
  readonly name: string;
  /** A button that shows only events with the same value: its label and its action. */
  readonly narrow?: readonly [words: string, narrow: () => void] | null;
  readonly children: ReactNode;
}

function Row({ name, narrow = null, children }: RowProps) {
  return (
    <Table.Tr>
      <Table.Th w={110}>{name}</Table.Th>
      <Table.Td style={{ overflowWrap: 'anywhere' }}>
        <Group gap="xs" justify="space-between">
          <div>{children}</div>
          {narrow === null ? null : (
            <Button size="compact-xs" variant="default" onClick={narrow[1]}>
              {narrow[0]}
            </Button>
          )}
        </Group>
      </Table.Td>
    </Table.Tr>
  );
}
