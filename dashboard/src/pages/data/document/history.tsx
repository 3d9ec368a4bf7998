/** The history of a document: its events with their changes, and restoring an older state. */
import { Accordion, Badge, Button, Group, Stack, Text } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { IconArrowBackUp } from '@tabler/icons-react';
import { useInfiniteQuery } from '@tanstack/react-query';
import { request, withQuery } from '../../../api/client.ts';
import type { LoggedEvent } from '../../../api/live.ts';
import { JsonDiff } from '../../../parts/code/json-diff.tsx';
import { Failure } from '../../../parts/failure.tsx';
import { Loading } from '../../../parts/page.tsx';
import { PageLink } from '../../../parts/page-link.tsx';
import { useActionWithNotice } from '../../../parts/use-action.ts';
import { ActorOfEvent } from '../../../parts/users/actor.tsx';
import { When } from '../../../parts/when.tsx';
import { pathOf } from '../parts/search.ts';
import { createDocument, fieldsOf, historyKey, replaceDocument } from './use-document.ts';

/** The response of `GET /api/{collection}/{id}/_history`: newest first. */
interface HistoryPage {
  readonly events: readonly LoggedEvent[];
  readonly next: string | null;
}

interface HistoryProps {
  readonly collection: string;
  readonly id: string;
  /** The tag of the current document; null when it does not exist. */
  readonly etag: string | null;
  readonly as: string | undefined;
  readonly mayWrite: boolean;
  readonly reason: string;
}

const COLOURS: Readonly<Record<string, string>> = { created: 'teal', updated: 'blue', deleted: 'red' };
const PAGE = 50;

export function History({ collection, id, etag, as, mayWrite, reason }: HistoryProps) {
  const { run } = useActionWithNotice();
  const { data, error, hasNextPage, isFetching, fetchNextPage, refetch } = useInfiniteQuery({
    queryKey: [...historyKey(collection, id), as],
    initialPageParam: undefined as string | undefined,
    queryFn: async ({ pageParam }) => {
      const path = withQuery(`${pathOf(collection, id)}/_history`, { limit: PAGE, cursor: pageParam });
      return (await request<HistoryPage>('GET', path, { as })).body;
    },
    getNextPageParam: ({ next }) => next ?? undefined,
  });
  if (error !== null) return <Failure error={error} again={() => void refetch()} />;
  if (data === undefined) return <Loading />;
  const events = data.pages.flatMap((page) => page.events);
  const restore = async (state: Readonly<Record<string, unknown>>) => {
    const body = fieldsOf(state);
    if (etag === null) await createDocument(collection, id, body);
    else await replaceDocument(collection, id, body, etag);
    notifications.show({ message: `Restored ${id}` });
  };
  return (
    <Stack>
      {events.length === 0 && !hasNextPage ? (
        <Text size="sm">The event log no longer has events of this document.</Text>
      ) : (
        <Accordion
          variant="separated"
          chevronPosition="left"
          multiple
          defaultValue={events.slice(0, 1).map((one) => one.id)}
        >
          {events.map((event, at) => (
            <Accordion.Item key={event.id} value={event.id}>
              <Accordion.Control>
                <Group gap="xs">
                  <Badge size="sm" variant="light" color={COLOURS[kindOfEvent(event)] ?? 'gray'}>
                    {kindOfEvent(event)}
                  </Badge>
                  <Text size="sm">
                    {event.revision === null ? null : `revision ${event.revision}, `}
                    <When at={event.timestamp} />
                  </Text>
                  <Text size="sm" c="dimmed">
                    by <ActorOfEvent event={event} plain />
                  </Text>
                </Group>
              </Accordion.Control>
              <Accordion.Panel>
                <Stack gap="xs">
                  <JsonDiff before={withoutMeta(event.before)} after={withoutMeta(event.data)} />
                  <Group justify="space-between">
                    <PageLink to="/events" search={{ event: event.id }} size="sm">
                      Open event
                    </PageLink>
                    <Restore
                      event={event}
                      isCurrent={at === 0 && etag !== null}
                      mayWrite={mayWrite}
                      reason={reason}
                      onRestore={(state) => void run(() => restore(state))}
                    />
                  </Group>
                </Stack>
              </Accordion.Panel>
            </Accordion.Item>
          ))}
        </Accordion>
      )}
      {hasNextPage ? (
        <Button variant="default" loading={isFetching} onClick={() => void fetchNextPage()}>
          Older
        </Button>
      ) : null}
    </Stack>
  );
}

interface RestoreProps {
  readonly event: LoggedEvent;
  /** The newest event of an existing document. */
  readonly isCurrent: boolean;
  readonly mayWrite: boolean;
  readonly reason: string;
  readonly onRestore: (state: Readonly<Record<string, unknown>>) => void;
}

/** A deletion restores the deleted document; every other event the state after it. */
function Restore({ event, isCurrent, mayWrite, reason, onRestore }: RestoreProps) {
  const state = kindOfEvent(event) === 'deleted' ? event.before : event.data;
  if (isCurrent) return <Text size="sm">This is the current state</Text>;
  const why = mayWrite ? 'This event does not contain the document' : reason;
  const may = mayWrite && state !== null;
  return (
    <Button
      size="xs"
      variant="default"
      leftSection={<IconArrowBackUp size={14} />}
      disabled={!may}
      {...(may ? {} : { title: why })}
      onClick={() => state !== null && onRestore(state)}
    >
      Restore
    </Button>
  );
}

function kindOfEvent({ type }: LoggedEvent): string {
  return type.slice(type.lastIndexOf('.') + 1);
}

function withoutMeta(state: Readonly<Record<string, unknown>> | null): Readonly<Record<string, unknown>> | null {
  return state === null ? null : fieldsOf(state);
}
