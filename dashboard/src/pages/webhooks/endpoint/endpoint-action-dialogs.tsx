/** Dialogs for actions on an endpoint: a test, another secret, and recovering failed deliveries since a time. */
import { Autocomplete, Select, Stack, Text, TextInput } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useState } from 'react';
import { request } from '../../../api/client.ts';
import { Confirm } from '../../../parts/confirm.tsx';
import { numberText } from '../../../parts/numbers.ts';
import { useWebhooksAgain, useWebhooksSearch } from '../parts/search-params.ts';
import type { Delivery, Endpoint } from '../parts/webhook-api-types.ts';
import { useEventTypes } from './event-types.ts';

interface DialogProps {
  readonly endpoint: Endpoint;
  readonly onClose: () => void;
}

export function Test({ endpoint, onClose }: DialogProps) {
  const [type, setType] = useState('');
  const { go } = useWebhooksSearch();
  const again = useWebhooksAgain();
  const types = useEventTypes();
  const send = async () => {
    const body = type === '' ? {} : { type };
    const { body: created } = await request<Delivery>('POST', `/webhooks/endpoints/${endpoint.id}/test`, { body });
    await again();
    go({ dialog: undefined, delivery: created.id });
  };
  return (
    <Confirm title="Send test event" verb="Send" harmless onConfirm={send} onClose={onClose}>
      <Stack gap="xs">
        <Text size="sm">Sends one request now and shows the response.</Text>
        <Autocomplete
          label="Event type"
          description="Sends the newest event of this type. Empty: a test event."
          placeholder="system.webhook.test"
          data={types.filter((one) => !one.includes('*'))}
          value={type}
          onChange={setType}
        />
      </Stack>
    </Confirm>
  );
}

const GRACE = [
  { value: '86400', label: '24 hours' },
  { value: '604800', label: '7 days' },
  { value: '3600', label: '1 hour' },
  { value: '0', label: 'not at all (it was leaked)' },
];

export function Rotate({ endpoint, onClose, onSecret }: DialogProps & { readonly onSecret: (secret: string) => void }) {
  const [grace, setGrace] = useState<string | null>('86400');
  const again = useWebhooksAgain();
  const rotate = async () => {
    const body = { graceSeconds: Number(grace) };
    const { body: created } = await request<{ readonly secret: string }>(
      'POST',
      `/webhooks/endpoints/${endpoint.id}/rotate`,
      { body },
    );
    onSecret(created.secret);
    await again();
  };
  return (
    <Confirm title="Rotate secret" verb="Rotate" onConfirm={rotate} onClose={onClose}>
      <Stack gap="xs">
        <Text size="sm">
          Creates a new secret and shows it once. Until the old secret expires, each delivery is signed with both, so
          that receivers can switch.
        </Text>
        <Select
          label="Keep the old secret valid for"
          data={GRACE}
          value={grace}
          onChange={setGrace}
          allowDeselect={false}
        />
      </Stack>
    </Confirm>
  );
}

export function Recover({ endpoint, onClose }: DialogProps) {
  const [since, setSince] = useState(() => localTime(new Date(Date.now() - 24 * 3_600_000)));
  const again = useWebhooksAgain();
  const recover = async () => {
    const body = { since: new Date(since).toISOString() };
    const { body: created } = await request<{ readonly count: number }>(
      'POST',
      `/webhooks/endpoints/${endpoint.id}/recover`,
      { body },
    );
    await again();
    notifications.show({ message: `${numberText(created.count)} deliveries queued again` });
  };
  return (
    <Confirm title="Recover deliveries" verb="Recover" harmless onConfirm={recover} onClose={onClose}>
      <Stack gap="xs">
        <Text size="sm">
          Sends failed and discarded deliveries created since then again, with the same ids. Deliveries that are failed
          or canceled, and were created since then. What has arrived is not sent again. To send those as well, use
          Replay.
        </Text>
        <TextInput
          type="datetime-local"
          label="Since"
          description="In the time zone of this browser"
          required
          value={since}
          onChange={({ currentTarget }) => setSince(currentTarget.value)}
        />
      </Stack>
    </Confirm>
  );
}

/** A time in the format of the browser's input. */
function localTime(at: Date): string {
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
