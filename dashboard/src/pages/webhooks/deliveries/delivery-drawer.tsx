/** One delivery: its body, and each attempt with the request and the response. */
import { Badge, Button, Code, Drawer, Group, Stack, Text, Title } from '@mantine/core';
import { IconRepeat } from '@tabler/icons-react';
import { request } from '../../../api/client.ts';
import { useResource } from '../../../api/live.ts';
import { useRights } from '../../../api/rights.ts';
import { Copyable } from '../../../parts/copy.tsx';
import { Failure } from '../../../parts/failure.tsx';
import { Loading } from '../../../parts/page.tsx';
import { useActionWithNotice } from '../../../parts/use-action.ts';
import { When } from '../../../parts/when.tsx';
import { outcomeOf } from '../parts/health.tsx';
import { useWebhooksAgain, useWebhooksSearch } from '../parts/search-params.ts';
import type { Attempt, Delivery } from '../parts/webhook-api-types.ts';

/** An attempt can happen at any time while the drawer is open. */
const AGAIN_MS = 1_500;

export function DeliveryDrawer({ id }: { readonly id: string }) {
  const { go } = useWebhooksSearch();
  const path = `/webhooks/deliveries/${encodeURIComponent(id)}`;
  const { data: delivery, error } = useResource<Delivery & { readonly body: string | null }>(path);
  const { data: attempts } = useResource<readonly Attempt[]>(`${path}/attempts`, [], AGAIN_MS);
  return (
    <Drawer
      opened
      onClose={() => go({ delivery: undefined })}
      position="right"
      size="lg"
      title={delivery === undefined ? 'Delivery' : `Delivery of ${delivery.type}`}
      closeButtonProps={{ 'aria-label': 'Close the delivery' }}
    >
      {delivery === undefined && error === null ? <Loading /> : null}
      {error === null ? null : <Failure error={error} />}
      {delivery === undefined ? null : (
        <Stack gap="md">
          <About delivery={delivery} />
          <Title order={3} size="sm">
            Attempts
          </Title>
          {attempts === undefined ? <Loading rows={2} /> : null}
          {attempts?.length === 0 ? <Text size="sm">No attempts yet.</Text> : null}
          {attempts?.toReversed().map((attempt, index, all) => (
            <Try key={attempt.at} attempt={attempt} number={all.length - index} />
          ))}
          <Title order={3} size="sm">
            Body
          </Title>
          {delivery.body === null ? (
            <Text size="sm">The body is no longer stored.</Text>
          ) : (
            <Copyable text={pretty(delivery.body)} what="the body" />
          )}
        </Stack>
      )}
    </Drawer>
  );
}

function About({ delivery }: { readonly delivery: Delivery }) {
  const { build, why } = useRights();
  const again = useWebhooksAgain();
  const { busy, run } = useActionWithNotice();
  const resend = async () => {
    await request('POST', `/webhooks/deliveries/${encodeURIComponent(delivery.id)}/resend`);
    await again();
  };
  return (
    <Group justify="space-between">
      <Stack gap={2}>
        <Text size="sm" component="div">
          Event <Code>{delivery.event}</Code>, created <When at={delivery.createdAt} />
        </Text>
        {delivery.nextAttemptAt === null ? null : (
          <Text size="sm" component="div">
            {Date.parse(delivery.nextAttemptAt) <= Date.now() ? (
              'The next attempt is due: it waits for its turn, or for the pause of the endpoint to end.'
            ) : (
              <>
                Next attempt <When at={delivery.nextAttemptAt} />
              </>
            )}
          </Text>
        )}
      </Stack>
      <Button
        size="xs"
        leftSection={<IconRepeat size={16} />}
        loading={busy}
        disabled={!build}
        title={build ? 'Sends it again with the same id' : why}
        onClick={() => void run(resend)}
      >
        Send again
      </Button>
    </Group>
  );
}

function Try({ attempt, number }: { readonly attempt: Attempt; readonly number: number }) {
  const { request: sent, response } = attempt;
  return (
    <Stack gap={4}>
      <Group gap="xs">
        <Title order={4} size="sm">
          Attempt {number}
        </Title>
        <Badge variant="dot" color={attempt.error === null ? 'teal' : 'red'}>
          {outcomeOf(attempt)}
        </Badge>
        <Text size="sm" c="dimmed" component="span">
          {Math.round(attempt.durationMs)} ms, <When at={attempt.at} />, by {attempt.trigger}
        </Text>
      </Group>
      <details>
        <Text size="sm" component="summary">
          Request and response
        </Text>
        <Stack gap="xs" mt="xs">
          <Text size="sm">Request headers</Text>
          <Copyable text={lines(sent.headers)} what="the request headers" />
          {response === null ? (
            <Text size="sm">No response</Text>
          ) : (
            <>
              <Text size="sm">Response {attempt.status}</Text>
              <Copyable
                text={`${lines(response.headers)}${response.body === '' ? '' : `\n\n${response.body}`}`}
                what="the response"
              />
            </>
          )}
        </Stack>
      </details>
    </Stack>
  );
}

function lines(headers: Readonly<Record<string, string>>): string {
  return Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}`)
    .join('\n');
}

function pretty(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body), null, 2);
  } catch {
    return body;
  }
}
