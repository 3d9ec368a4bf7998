/** What an action on an endpoint needs to know: a test, another secret, and what has failed since a time. */
import { Autocomplete, Select, Stack, Text, TextInput } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useState } from 'react';
import { request } from '../../../api/client.ts';
import { Confirm } from '../../../parts/confirm.tsx';
import { numberText } from '../../../parts/numbers.ts';
import type { Delivery, Endpoint } from '../parts/answers.ts';
import { useWebhooksAgain, useWebhooksPlace } from '../parts/place.ts';
import { useEventTypes } from './event-types.ts';

interface DialogProps {
  readonly endpoint: Endpoint;
  readonly onClose: () => void;
}

export function Test({ endpoint, onClose }: DialogProps) {
  const [type, setType] = useState('');
  const { go } = useWebhooksPlace();
  const again = useWebhooksAgain();
  const types = useEventTypes();
  const send = async () => {
    const body = type === '' ? {} : { type };
    const { body: made } = await request<Delivery>('POST', `/webhooks/endpoints/${endpoint.id}/test`, { body });
    await again();
    go({ dialog: undefined, delivery: made.id });
  };
  return (
    <Confirm title="Send a test" verb="Send" harmless onConfirm={send} onClose={onClose}>
      <Stack gap="xs">
        <Text size="sm">One request is made now, and its answer is shown.</Text>
        <Autocomplete
          label="Sample of the type"
          description="The newest event of this type. Empty: an event that says that it is a test."
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
  { value: '3600', label: 'an hour' },
  { value: '0', label: 'not at all: it has leaked' },
];

export function Rotate({ endpoint, onClose, onSecret }: DialogProps & { readonly onSecret: (secret: string) => void }) {
  const [grace, setGrace] = useState<string | null>('86400');
  const again = useWebhooksAgain();
  const rotate = async () => {
    const body = { graceSeconds: Number(grace) };
    const { body: made } = await request<{ readonly secret: string }>(
      'POST',
      `/webhooks/endpoints/${endpoint.id}/rotate`,
      { body },
    );
    onSecret(made.secret);
    await again();
  };
  return (
    <Confirm title="Rotate the secret" verb="Rotate" onConfirm={rotate} onClose={onClose}>
      <Stack gap="xs">
        <Text size="sm">
          A new secret is made and shown once. For a while each delivery is signed by both, so that receivers can change
          over.
        </Text>
        <Select
          label="The old secret signs too for"
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
    const { body: made } = await request<{ readonly count: number }>(
      'POST',
      `/webhooks/endpoints/${endpoint.id}/recover`,
      { body },
    );
    await again();
    notifications.show({ message: `${numberText(made.count)} deliveries are due again` });
  };
  return (
    <Confirm title="Recover deliveries" verb="Recover" harmless onConfirm={recover} onClose={onClose}>
      <Stack gap="xs">
        <Text size="sm">
          Deliveries that have failed are sent again, with the same ids: those that are dead or discarded, and were made
          since then. What has arrived is not sent again. To send that as well, use Replay.
        </Text>
        <TextInput
          type="datetime-local"
          label="Since"
          description="In the time of this browser"
          required
          value={since}
          onChange={({ currentTarget }) => setSince(currentTarget.value)}
        />
      </Stack>
    </Confirm>
  );
}

/** A moment as the field of the browser wants it. */
function localTime(at: Date): string {
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
