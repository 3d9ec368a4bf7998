/** One endpoint: its events, its health, and its actions. */
import { Alert, Button, Code, Group, SimpleGrid, Stack, Switch, Text, Title } from '@mantine/core';
import type { ReactNode } from 'react';
import { request } from '../../../api/client.ts';
import { useRights } from '../../../api/rights.ts';
import { Confirm } from '../../../parts/confirm.tsx';
import { numberText } from '../../../parts/numbers.ts';
import { PageLink } from '../../../parts/page-link.tsx';
import { useActionWithNotice } from '../../../parts/use-action.ts';
import { Actor } from '../../../parts/users/actor.tsx';
import { When } from '../../../parts/when.tsx';
import { HealthBadge, healthOf } from '../parts/health.tsx';
import type { WebhookDialog } from '../parts/route.ts';
import { useWebhooksAgain, useWebhooksSearch } from '../parts/search-params.ts';
import { type Endpoint, nameOf } from '../parts/webhook-api-types.ts';
import { Recover, Rotate, Test } from './endpoint-action-dialogs.tsx';
import { EndpointForm } from './endpoint-form.tsx';
import { ReplayDialog, ReplayProgress } from './replay.tsx';

interface EndpointDetailProps {
  readonly id: string;
  /** Undefined when there is none with this id. */
  readonly endpoint: Endpoint | undefined;
  readonly onSecret: (secret: string) => void;
}

export function EndpointDetail({ id, endpoint, onSecret }: EndpointDetailProps) {
  const { search } = useWebhooksSearch();
  return (
    <Stack gap="md">
      <PageLink to="/webhooks" search={{}} size="sm">
        All endpoints
      </PageLink>
      {endpoint === undefined ? (
        <Alert color="yellow" title="The endpoint does not exist">
          It may have been deleted. Its deliveries ({id}) are still listed below.
        </Alert>
      ) : (
        <>
          <Actions endpoint={endpoint} />
          <Facts endpoint={endpoint} />
          {search.replay === undefined ? null : <ReplayProgress id={search.replay} />}
          <OpenDialog endpoint={endpoint} onSecret={onSecret} />
        </>
      )}
    </Stack>
  );
}

function Actions({ endpoint }: { readonly endpoint: Endpoint }) {
  const { go } = useWebhooksSearch();
  const { build, why } = useRights();
  const again = useWebhooksAgain();
  const { busy, run } = useActionWithNotice();
  const isStopped = !endpoint.enabled;
  const enable = async (enabled: boolean) => {
    await request('PATCH', `/webhooks/endpoints/${endpoint.id}`, { body: { enabled } });
    await again();
  };
  const button = (dialog: WebhookDialog, word: string, needsEnabled = false, about?: string) => (
    <Button
      size="xs"
      variant="default"
      disabled={!build || (needsEnabled && isStopped)}
      title={build ? (needsEnabled && isStopped ? 'Enable the endpoint first' : about) : why}
      onClick={() => go({ dialog })}
    >
      {word}
    </Button>
  );
  return (
    <Group justify="space-between" align="flex-start">
      <Group gap="sm">
        <Title order={2} size="h4" style={{ overflowWrap: 'anywhere' }}>
          {nameOf(endpoint)}
        </Title>
        <HealthBadge endpoint={endpoint} />
      </Group>
      <Group gap="xs">
        <Switch
          label="Enabled"
          checked={endpoint.enabled}
          disabled={!build || busy}
          title={build ? 'Disabled, nothing is sent, and what was still to be sent is canceled' : why}
          onChange={({ currentTarget: { checked } }) => void run(() => enable(checked))}
        />
        {button('test', 'Send test event', true)}
        {button('edit', 'Edit')}
        {button('recover', 'Recover', true, 'Sends failed deliveries again')}
        {button('replay', 'Replay', true, 'Sends events from the log, whether or not they were sent before')}
        {button('rotate', 'Rotate secret')}
        {button('delete', 'Delete')}
      </Group>
      <Text size="xs" c="dimmed" w="100%">
        Recover sends failed deliveries again. Replay sends events from the log, whether or not they were sent before.
      </Text>
    </Group>
  );
}

function Facts({ endpoint }: { readonly endpoint: Endpoint }) {
  const { health, filter, headers, ratePerSecond, principal } = endpoint;
  const names = Object.keys(headers);
  return (
    <SimpleGrid cols={{ base: 1, xs: 2, md: 4 }} spacing="sm">
      <Fact name="URL">
        <Code>{endpoint.url}</Code>
      </Fact>
      <Fact name="Event types">
        <Group gap={4}>
          {endpoint.types.map((type) => (
            <Code key={type}>{type}</Code>
          ))}
        </Group>
      </Fact>
      <Fact name="Filter">{filter === null ? 'all' : <Code>{JSON.stringify(filter)}</Code>}</Fact>
      <Fact name="Health">{healthOf(endpoint).title}</Fact>
      <Fact name="Pending">{numberText(health.pending)}</Fact>
      <Fact name="Last success">
        <When at={health.lastSuccessAt} />
      </Fact>
      <Fact name="Last failure">
        <When at={health.lastFailureAt} />
        {health.failingSince === null ? null : (
          <>
            , failing since <When at={health.failingSince} />
          </>
        )}
      </Fact>
      <Fact name="Retries">
        {endpoint.retrySchedule === 'none'
          ? 'never'
          : endpoint.retrySchedule === 'long'
            ? 'ten attempts in 75 hours'
            : 'eight attempts in 28 hours'}
        {endpoint.ordering === 'document' ? ', each document in order' : ''}
      </Fact>
      {names.length === 0 ? null : <Fact name="Custom headers">{names.join(', ')}</Fact>}
      {ratePerSecond === null ? null : <Fact name="Requests per second">at most {ratePerSecond}</Fact>}
      <Fact name="Permissions of">
        {principal.kind === 'anonymous' ? 'anonymous clients' : <Actor kind={principal.kind} id={principal.id} />}
      </Fact>
      <Fact name="Created">
        <When at={endpoint.createdAt} />
      </Fact>
    </SimpleGrid>
  );
}

function Fact({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return (
    <div>
      <Text size="xs" c="dimmed">
        {name}
      </Text>
      <Text size="sm" component="div" style={{ overflowWrap: 'anywhere' }}>
        {children}
      </Text>
    </div>
  );
}

function OpenDialog({
  endpoint,
  onSecret,
}: {
  readonly endpoint: Endpoint;
  readonly onSecret: (secret: string) => void;
}) {
  const { search, go } = useWebhooksSearch();
  const { build } = useRights();
  const again = useWebhooksAgain();
  const onClose = () => go({ dialog: undefined });
  if (!build) return null;
  switch (search.dialog) {
    case 'edit':
      return <EndpointForm endpoint={endpoint} onClose={onClose} onSaved={onClose} />;
    case 'test':
      return <Test endpoint={endpoint} onClose={onClose} />;
    case 'rotate':
      return <Rotate endpoint={endpoint} onSecret={onSecret} onClose={onClose} />;
    case 'recover':
      return <Recover endpoint={endpoint} onClose={onClose} />;
    case 'replay':
      return <ReplayDialog endpoint={endpoint} onClose={onClose} />;
    case 'delete':
      return (
        <Confirm
          title="Delete endpoint"
          verb="Delete"
          onConfirm={async () => {
            await request('DELETE', `/webhooks/endpoints/${endpoint.id}`);
            await again();
            go({ dialog: undefined, endpoint: undefined });
          }}
          onClose={onClose}
        >
          No more events are sent to {endpoint.url}, including pending deliveries.
        </Confirm>
      );
    default:
      return null;
  }
}
