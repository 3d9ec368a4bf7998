/** Sends a range of the log to an endpoint once more, and shows how far it is. */
import { Alert, Button, Group, Modal, Progress, Select, Stack, Text, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { request } from '../../api/client.ts';
import { useResource } from '../../api/live.ts';
import { Failure } from '../../parts/failure.tsx';
import { NamesInput } from '../../parts/names-input.tsx';
import { PageLink } from '../../parts/page-link.tsx';
import { useAction } from '../../parts/use-action.ts';
import type { Endpoint, Replay } from '../webhooks/parts/answers.ts';
import { pageAfter } from './history.ts';
import { numberOf } from './position.ts';

/** How often the progress is asked for, in milliseconds. */
const EACH_MS = 500;

interface Begun extends Replay {
  readonly from: number;
  readonly to: number;
}

/** @param since the position to begin after, if it is known */
export function ReplayForm({
  since: given,
  onClose,
}: {
  readonly since: string | undefined;
  readonly onClose: () => void;
}) {
  const endpoints = useResource<readonly Endpoint[]>('/webhooks/endpoints', ['system.endpoint.*']);
  const [endpoint, setEndpoint] = useState<string | null>(null);
  const [since, setSince] = useState(given ?? '');
  const [until, setUntil] = useState('');
  const [types, setTypes] = useState<string[]>([]);
  const [begun, setBegun] = useState<Begun | null>(null);
  const { busy, error, run } = useAction();
  const begin = async () => {
    const { position: newest } = await pageAfter(undefined, null);
    const body = { since, ...(until === '' ? {} : { until }), ...(types.length === 0 ? {} : { types }) };
    const path = `/webhooks/endpoints/${encodeURIComponent(endpoint ?? '')}/replay`;
    const { body: told } = await request<Replay>('POST', path, { body });
    setBegun({ ...told, from: numberOf(since), to: numberOf(until === '' ? newest : until) });
  };
  const usable = endpoints.data?.filter(({ enabled }) => enabled) ?? [];
  return (
    <Modal opened onClose={onClose} title="Replay to a webhook" centered>
      {begun !== null ? (
        <Running begun={begun} onClose={onClose} />
      ) : endpoints.data !== undefined && usable.length === 0 ? (
        <Stack>
          <Text size="sm">
            There is no endpoint that is enabled.{' '}
            <PageLink to="/webhooks" size="sm">
              Make one
            </PageLink>
            , then send it what has happened.
          </Text>
        </Stack>
      ) : (
        <form
          onSubmit={(event) => {
            event.preventDefault();
            void run(begin);
          }}
        >
          <Stack>
            <Text size="sm">
              The events go to the endpoint once more, with the ids that they had. Its own types and filter still hold.
            </Text>
            <Select
              label="Endpoint"
              required
              data={usable.map(({ id, name, url }) => ({ value: id, label: name ?? url }))}
              value={endpoint}
              onChange={setEndpoint}
              placeholder="Choose one"
            />
            <TextInput
              label="After the position"
              description="Events after it are sent; the number of the position before the first one."
              required
              value={since}
              onChange={({ currentTarget }) => setSince(currentTarget.value.trim())}
              placeholder="1-1042"
            />
            <TextInput
              label="Up to the position"
              description="With this event; up to now without it."
              value={until}
              onChange={({ currentTarget }) => setUntil(currentTarget.value.trim())}
            />
            <NamesInput label="Only these types" value={types} onChange={setTypes} placeholder="All of the endpoint" />
            {error === null ? null : <Failure error={error} />}
            <Group justify="flex-end">
              <Button variant="default" onClick={onClose}>
                Cancel
              </Button>
              <Button type="submit" loading={busy} disabled={endpoint === null}>
                Replay
              </Button>
            </Group>
          </Stack>
        </form>
      )}
    </Modal>
  );
}

function Running({ begun, onClose }: { readonly begun: Begun; readonly onClose: () => void }) {
  const asked = useQuery({
    queryKey: ['replay', begun.id],
    queryFn: async () => (await request<Replay>('GET', `/webhooks/replays/${begun.id}`)).body,
    initialData: begun,
    // No event tells how far a replay is.
    refetchInterval: ({ state }) => (state.data?.state === 'running' ? EACH_MS : false),
    refetchIntervalInBackground: true,
    staleTime: 0,
  });
  const { state, sent, position } = asked.data;
  const length = Math.max(1, begun.to - begun.from);
  const share = state === 'done' ? 100 : Math.min(100, (100 * (numberOf(position) - begun.from)) / length);
  return (
    <Stack>
      <Progress value={share} aria-label="How much of the range was read" />
      {state === 'cancelled' ? (
        <Alert color="yellow" title="Cancelled">
          The endpoint was disabled or deleted. {sent} events were sent before.
        </Alert>
      ) : (
        <Text size="sm" role="status">
          {state === 'done' ? `Done: ${sent} events are on their way.` : `${sent} events so far, at ${position}.`}
        </Text>
      )}
      {asked.error === null ? null : <Failure error={asked.error} />}
      <Group justify="space-between">
        <PageLink to="/webhooks" size="sm">
          Show the deliveries
        </PageLink>
        <Button variant="default" onClick={onClose}>
          Close
        </Button>
      </Group>
    </Stack>
  );
}
