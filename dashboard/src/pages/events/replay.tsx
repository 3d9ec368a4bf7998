/** Replays a range of the log to an endpoint or a trigger, and shows the progress. */
import { Alert, Button, Group, Modal, Progress, Select, Stack, Text, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import { request } from '../../api/client.ts';
import { useResource } from '../../api/live.ts';
import { Failure } from '../../parts/failure.tsx';
import { FormEnd } from '../../parts/forms/form-end.tsx';
import { NamesInput } from '../../parts/names-input.tsx';
import { PageLink } from '../../parts/page-link.tsx';
import { useAction } from '../../parts/use-action.ts';
import type { Plugin } from '../functions/parts/responses.ts';
import type { Endpoint, Replay } from '../webhooks/parts/webhook-api-types.ts';
import { pageAfter } from './history.ts';
import { numberOf } from './position.ts';
import { isOfTrigger, type Replayed, ReplayedToTrigger, replayToTrigger, triggersOf } from './replay-to-trigger.tsx';

/** Interval of progress requests, in milliseconds. */
const EACH_MS = 500;

interface Begun extends Replay {
  readonly from: number;
  readonly to: number;
}

/** @param since the position to start after, if it is known */
export function ReplayForm({
  since: given,
  onClose,
}: {
  readonly since: string | undefined;
  readonly onClose: () => void;
}) {
  const endpoints = useResource<readonly Endpoint[]>('/webhooks/endpoints', ['system.endpoint.*']);
  const plugins = useResource<readonly Plugin[]>('/admin/plugins', ['system.plugin.*']);
  /** The path of the replay of an endpoint or of a trigger. */
  const [path, setPath] = useState<string | null>(null);
  const [since, setSince] = useState(given ?? '');
  const [until, setUntil] = useState('');
  const [types, setTypes] = useState<string[]>([]);
  const [begun, setBegun] = useState<Begun | null>(null);
  const [replayed, setReplayed] = useState<Replayed | null>(null);
  const isClosed = useRef(false);
  const { busy, error, run } = useAction();
  const close = () => {
    isClosed.current = true;
    onClose();
  };
  const begin = async (target: string) => {
    const body = { since, ...(until === '' ? {} : { until }), ...(types.length === 0 ? {} : { types }) };
    if (isOfTrigger(target)) return await replayToTrigger(target, body, setReplayed, () => isClosed.current);
    const { position: newest } = await pageAfter(undefined, null);
    const { body: reported } = await request<Replay>('POST', target, { body });
    setBegun({ ...reported, from: numberOf(since), to: numberOf(until === '' ? newest : until) });
  };
  const usable = endpoints.data?.filter(({ enabled }) => enabled) ?? [];
  const triggers = triggersOf(plugins.data ?? []);
  const targets = [
    {
      group: 'Webhooks',
      items: usable.map(({ id, name, url }) => ({ value: pathOfEndpoint(id), label: name ?? url })),
    },
    { group: 'Triggers', items: triggers },
  ];
  const isEmpty = endpoints.data !== undefined && plugins.data !== undefined && usable.length + triggers.length === 0;
  return (
    <Modal opened onClose={close} title="Replay events" centered>
      {begun !== null ? (
        <Running begun={begun} onClose={close} />
      ) : replayed !== null ? (
        <ReplayedToTrigger replayed={replayed} error={error} onClose={close} />
      ) : isEmpty ? (
        <Stack>
          <Text size="sm">
            There is no enabled endpoint and no active trigger. Create an{' '}
            <PageLink to="/webhooks" size="sm">
              endpoint
            </PageLink>{' '}
            or a{' '}
            <PageLink to="/functions" size="sm">
              function
            </PageLink>
            , then replay events to it.
          </Text>
        </Stack>
      ) : (
        <form
          onSubmit={(event) => {
            event.preventDefault();
            if (path !== null) void run(() => begin(path));
          }}
        >
          <Stack>
            <Text size="sm">
              Sends the events to an endpoint again, with the same ids, or creates runs of a trigger. The types and the
              filter of the endpoint or trigger still apply.
            </Text>
            <Select
              label="Endpoint or trigger"
              required
              data={targets.filter(({ items }) => items.length > 0)}
              value={path}
              onChange={setPath}
              placeholder="Choose one"
            />
            <TextInput
              label="After position"
              description="The log position before the first event to send, such as 1-1042. The details of an event show its position."
              required
              value={since}
              onChange={({ currentTarget }) => setSince(currentTarget.value.trim())}
              placeholder="1-1042"
            />
            <TextInput
              label="Up to position"
              description="The last event to send. Empty: up to now."
              value={until}
              onChange={({ currentTarget }) => setUntil(currentTarget.value.trim())}
            />
            <NamesInput label="Only these types" value={types} onChange={setTypes} placeholder="All its types" />
            {error === null ? null : <Failure error={error} />}
            <FormEnd verb="Replay" busy={busy} disabled={path === null} onCancel={close} />
          </Stack>
        </form>
      )}
    </Modal>
  );
}

function pathOfEndpoint(id: string): string {
  return `/webhooks/endpoints/${encodeURIComponent(id)}/replay`;
}

function Running({ begun, onClose }: { readonly begun: Begun; readonly onClose: () => void }) {
  const requested = useQuery({
    queryKey: ['replay', begun.id],
    queryFn: async () => (await request<Replay>('GET', `/webhooks/replays/${begun.id}`)).body,
    initialData: begun,
    // No event reports the progress of a replay.
    refetchInterval: ({ state }) => (state.data?.state === 'running' ? EACH_MS : false),
    refetchIntervalInBackground: true,
    staleTime: 0,
  });
  const { state, sent, position } = requested.data;
  const length = Math.max(1, begun.to - begun.from);
  const share = state === 'succeeded' ? 100 : Math.min(100, (100 * (numberOf(position) - begun.from)) / length);
  return (
    <Stack>
      <Progress value={share} aria-label="Progress" />
      {state === 'canceled' ? (
        <Alert color="yellow" title="Canceled">
          The endpoint was disabled or deleted. {sent} events had been sent.
        </Alert>
      ) : (
        <Text size="sm" role="status">
          {state === 'succeeded' ? `Done: ${sent} events queued.` : `${sent} events so far, at ${position}.`}
        </Text>
      )}
      {requested.error === null ? null : <Failure error={requested.error} />}
      <Group justify="space-between">
        <PageLink to="/webhooks" size="sm">
          Show deliveries
        </PageLink>
        <Button variant="default" onClick={onClose}>
          Close
        </Button>
      </Group>
    </Stack>
  );
}
