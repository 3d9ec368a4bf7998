/** Events of the log that are sent to an endpoint once more, and how far that is. */
import { Alert, Progress, Stack, Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import { request } from '../../../api/client.ts';
import { useResource } from '../../../api/live.ts';
import { Confirm } from '../../../parts/confirm.tsx';
import { Failure } from '../../../parts/failure.tsx';
import { NamesInput } from '../../../parts/names-input.tsx';
import { numberText } from '../../../parts/numbers.ts';
import type { Endpoint, Replay } from '../parts/answers.ts';
import { useWebhooksAgain, useWebhooksPlace } from '../parts/place.ts';
import { useEventTypes } from './event-types.ts';

const PROGRESS_MS = 500;

/** What the log holds (GET /admin/state). */
interface ServerState {
  readonly events: { readonly log: { readonly newest: string | null; readonly floor: number } };
}

export function ReplayDialog({ endpoint, onClose }: { readonly endpoint: Endpoint; readonly onClose: () => void }) {
  const { data: state } = useResource<ServerState>('/admin/state');
  const [since, setSince] = useState<string | null>(null);
  const [until, setUntil] = useState('');
  const [types, setTypes] = useState<string[]>([]);
  const { go } = useWebhooksPlace();
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
          Events of the log that match the endpoint are sent, whether they were sent before or not, with the same ids.
          So a new endpoint gets what happened before it. For failed deliveries alone, use Recover.
        </Text>
        <Text size="sm">
          The log begins after {oldest} and ends with {state?.events.log.newest ?? 'nothing'}.
        </Text>
        <TextInput
          label="After the position"
          description="The id of an event, such as 1-1042"
          value={since ?? oldest}
          onChange={({ currentTarget }) => setSince(currentTarget.value)}
          required
        />
        <TextInput
          label="Until the position"
          description="Empty: all up to now"
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

/** The position before the first row that is kept. */
function oldestOf(state: ServerState | undefined): string {
  const newest = state?.events.log.newest ?? null;
  if (state === undefined || newest === null) return '';
  return `${newest.split('-')[0]}-${Math.max(state.events.log.floor - 1, 0)}`;
}

const WORDS = { running: 'is running', done: 'is done', cancelled: 'was cancelled' } as const;

export function ReplayProgress({ id }: { readonly id: string }) {
  const { go } = useWebhooksPlace();
  const [isOver, setOver] = useState(false);
  const { data: state } = useResource<ServerState>('/admin/state');
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
      color={replay.state === 'cancelled' ? 'yellow' : 'cyan'}
      title={`The replay ${WORDS[replay.state]}`}
      role="status"
      withCloseButton
      closeButtonLabel="Close the replay"
      onClose={() => go({ replay: undefined })}
    >
      <Text size="sm" mb={4}>
        {numberText(replay.sent)} deliveries made; the log was read up to {replay.position}.
      </Text>
      <Progress value={over ? 100 : shareOf(replay.position, state)} aria-label="How much of the log was read" />
    </Alert>
  );
}

/** In percent of the rows that the log held when this was asked. */
function shareOf(position: string, state: ServerState | undefined): number {
  if (state === undefined) return 0;
  const { newest, floor } = state.events.log;
  const [at, end] = [position, newest ?? ''].map((one) => Number(one.split('-')[1] ?? 0));
  if (at === undefined || end === undefined || end <= floor) return 0;
  return Math.min(100, Math.max(0, ((at - floor) / (end - floor)) * 100));
}
