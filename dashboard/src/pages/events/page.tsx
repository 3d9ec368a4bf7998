/** Every change as it happens: a list that follows the log, can be paused, searched and read backwards. */
import { Alert, Badge, Button, Group, Text, Title } from '@mantine/core';
import { IconPlayerPause, IconPlayerPlay, IconSend } from '@tabler/icons-react';
import { useState } from 'react';
import { useRights } from '../../api/rights.ts';
import { curl } from '../../parts/curl-command.ts';
import { Empty } from '../../parts/empty.tsx';
import { Failure } from '../../parts/failure.tsx';
import { numberText } from '../../parts/numbers.ts';
import { Loading, Page } from '../../parts/page.tsx';
import { EventDetail } from './event-detail.tsx';
import { EventList } from './event-list.tsx';
import { FilterBar } from './filter-bar.tsx';
import { ReplayForm } from './replay.tsx';
import { type EventsSearch, eventsRoute } from './route.ts';
import { MAX_ROWS } from './tail.ts';
import { type TailState, useTail } from './use-tail.ts';

const ALL_TYPES = ['*'];

export function EventsPage() {
  const search = eventsRoute.useSearch();
  const navigate = eventsRoute.useNavigate();
  const { build, why } = useRights();
  const [replay, setReplay] = useState<{ readonly since: string | undefined } | null>(null);
  const types = search.types?.split(',') ?? ALL_TYPES;
  const shown = useTail({ types, filter: search.filter }, search.since);
  const { tail, loading, error } = shown;
  const set = (changed: EventsSearch) => void navigate({ search: (before) => ({ ...before, ...changed }) });
  const narrow = (name: string, value: string) =>
    set({ filter: { ...search.filter, [name]: value }, event: undefined });
  const isNarrowed = search.types !== undefined || search.filter !== undefined || search.since !== undefined;

  return (
    <Page
      title="Events"
      about="Every change, from any source, in the order of the database."
      actions={
        <>
          {tail.paused ? (
            <Button leftSection={<IconPlayerPlay size={16} />} onClick={shown.resume}>
              Continue
            </Button>
          ) : (
            <Button
              variant="default"
              leftSection={<IconPlayerPause size={16} />}
              onClick={shown.pause}
              disabled={tail.followsFrom === null}
            >
              Pause
            </Button>
          )}
          <Button
            variant="default"
            leftSection={<IconSend size={16} />}
            disabled={!build}
            title={build ? undefined : why}
            onClick={() => setReplay({ since: search.since })}
          >
            Replay events
          </Button>
        </>
      }
    >
      <FilterBar search={search} onChange={set} />
      <Group justify="space-between" gap="xs" mih={30}>
        <Title order={2} size="h5">
          Newest first
        </Title>
        <Status {...shown} onNow={() => set({ since: undefined })} />
      </Group>
      {error === null ? null : <Failure error={error} again={shown.again} />}
      {tail.missed === null ? null : (
        <Alert color="yellow" title="Events may be missing here">
          The connection was lost for too long, or the log was reset ({tail.missed}). Reload the page to read what the
          log has.
        </Alert>
      )}
      {tail.rows.length > 0 ? (
        <EventList rows={tail.rows} open={search.event} onOpen={(event) => set({ event })} />
      ) : loading || tail.newest === null ? (
        error === null ? (
          <Loading />
        ) : null
      ) : (
        <Empty
          title={isNarrowed ? 'No matching events yet' : 'No events yet'}
          command={curl('/api/todos', { title: 'Buy milk' })}
        >
          {isNarrowed
            ? 'New matching events appear here automatically. Remove a part of the filter to see more.'
            : 'Write a document, and its event appears here at once.'}
        </Empty>
      )}
      <Group justify="space-between" gap="xs">
        {tail.isAll ? (
          <Text size="sm" c="dimmed">
            The log has no older events.
          </Text>
        ) : (
          <Button variant="default" onClick={shown.loadOlder} loading={loading} disabled={tail.before === null}>
            Load older
          </Button>
        )}
        <Text size="sm" c="dimmed">
          {numberText(tail.rows.length)} shown, {numberText(MAX_ROWS)} at most
        </Text>
      </Group>
      {search.event === undefined ? null : (
        <EventDetail
          id={search.event}
          known={tail.rows.find(({ id }) => id === search.event)}
          onClose={() => set({ event: undefined })}
          onNarrow={narrow}
          onReplay={build ? (since) => setReplay({ since }) : null}
        />
      )}
      {replay === null ? null : <ReplayForm since={replay.since} onClose={() => setReplay(null)} />}
    </Page>
  );
}

/** Whether the list follows the log, and how to resume. */
function Status({ tail, status, loadNewer, resume, onNow }: TailState & { readonly onNow: () => void }) {
  if (tail.newest === null) return null;
  if (tail.followsFrom === null) {
    return (
      <Group gap="xs">
        <Badge variant="light" color="gray">
          History
        </Badge>
        <Button size="compact-sm" variant="default" onClick={loadNewer}>
          Load newer
        </Button>
        <Button size="compact-sm" variant="default" onClick={onNow}>
          Back to now
        </Button>
      </Group>
    );
  }
  if (tail.paused) {
    return (
      <Group gap="xs" role="status">
        <Badge variant="light" color="yellow">
          Paused
        </Badge>
        {tail.waiting.length === 0 ? null : (
          <Button size="compact-sm" variant="default" onClick={resume}>
            Show {tail.waiting.length} new
          </Button>
        )}
      </Group>
    );
  }
  return (
    <Badge variant="light" color={status === 'live' ? 'teal' : 'yellow'} role="status">
      {status === 'live' ? 'Live' : status === 'ended' ? 'Ended' : 'Connecting'}
    </Badge>
  );
}
