/** Replays events of the log to an endpoint, with the progress. */
import { Alert, Progress, Stack, Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import { request } from '../../../api/client.ts';
import { useResource } from '../../../api/live.ts';
import { Confirm } from '../../../parts/confirm.tsx';
import { Failure } from '../../../parts/failure.tsx';
import { NamesInput } from '../../../parts/names-input.tsx';
import { numberText } from '../../../parts/numbers.ts';
import { useWebhooksAgain, useWebhooksSearch } from '../parts/search-params.ts';
import type { Endpoint, Replay } from '../parts/webhook-api-types.ts';
import { useEventTypes } from './event-types.ts';

const PROGRESS_MS = 500;

/** The retained range of the log (GET /admin/status). */
interface ServerState {
  readonly events: { readonly log: { readonly newest: string | null; readonly floor: number } };
}

export function ReplayDialog({ endpoint, onClose }: { readonly endpoint: Endpoint; readonly onClose: () => void }) {
  const { data: state } = useResource<ServerState>('/admin/status');
  const [since, setSince] = useState<string | null>(null);
  const [until, setUntil] = useState('');
  const [types, setTypes] = useState<string[]>([]);
  const { go } = useWebhooksSearch();
  const again = useWebhooksAgain();
  const known = useEventTypes();
  const oldest = oldestOf(state);
  const begin = async () => {
    const body = {
      since: since ?? oldest,
      ...(until === '' ? {} : { until }),
      ...(types.length === 0 ? {} : { types }),
    };
    const path = `/webhooks/endpoints/${endpoint.id}/replay`;
    const { body: replay } = await request<Replay>('POST', path, { body });
    await again();
    go({ dialog: undefined, replay: replay.id });
  };
  return (
    <Confirm title="Replay events" verb="Replay" harmless onConfirm={begin} onClose={onClose}>
      <Stack gap="xs">
        <Text size="sm">
          Sends events from the log that match the endpoint, whether or not they were sent before, with the same ids. A
          new endpoint can thus receive earlier events. For failed deliveries only, use Recover.
        </Text>
        <Text size="sm">
          The log begins after {oldest} and ends with {state?.events.log.newest ?? 'nothing'}.
        </Text>
        <TextInput
          label="After position"
          description="The id of an event, such as 1-1042"
          value={since ?? oldest}
          onChange={({ currentTarget }) => setSince(currentTarget.value)}
          required
        />
        <TextInput
          label="Up to position"
          description="Empty: up to now"
          value={until}
          onChange={({ currentTarget }) => setUntil(currentTarget.value)}
        />
        <NamesInput
          label="Only these types"
          description="Empty: all types of the endpoint"
          data={[...known]}
          value={types}
          onChange={setTypes}
        />
      </Stack>
    </Confirm>
  );
}

/** The position before the first retained row. */
function oldestOf(state: ServerState | undefined): string {
  const newest = state?.events.log.newest ?? null;
  if (state === undefined || newest === null) return '';
  return `${newest.split('-')[0]}-${Math.max(state.events.log.floor - 1, 0)}`;
}

const WORDS = { running: 'is running', succeeded: 'is done', canceled: 'was canceled' } as const;

export function ReplayProgress({ id }: { readonly id: string }) {
  const { go } = useWebhooksSearch();
  const [isOver, setOver] = useState(false);
  const { data: state } = useResource<ServerState>('/admin/status');
  const { data: replay, error } = useResource<Replay>(
    `/webhooks/replays/${encodeURIComponent(id)}`,
    [],
    isOver ? null : PROGRESS_MS,
  );
  const over = replay !== undefined && replay.state !== 'running';
  if (over !== isOver && replay !== undefined) setOver(over);
  if (error !== null) return <Failure error={error} />;
  if (replay === undefined) return null;
  return (
    <Alert
      color={replay.state === 'canceled' ? 'yellow' : 'cyan'}
      title={`The replay ${WORDS[replay.state]}`}
      role="status"
      withCloseButton
      closeButtonLabel="Close"
      onClose={() => go({ replay: undefined })}
    >
      <Text size="sm" mb={4}>
        {numberText(replay.sent)} deliveries created; the log was read up to {replay.position}.
      </Text>
      <Progress value={over ? 100 : shareOf(replay.position, state)} aria-label="Progress" />
    </Alert>
  );
}

/** In percent of the rows that the log had at the request. */
function shareOf(position: string, state: ServerState | undefined): number {
  if (state === undefined) return 0;
  const { newest, floor } = state.events.log;
  const [at, end] = [position, newest ?? ''].map((one) => Number(one.split('-')[1] ?? 0));
  if (at === undefined || end === undefined || end <= floor) return 0;
  return Math.min(100, Math.max(0, ((at - floor) / (end - floor)) * 100));
}
