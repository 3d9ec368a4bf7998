/** Endpoints and deliveries: where events are sent, and whether they arrived. */
import { Button } from '@mantine/core';
import { IconPlus } from '@tabler/icons-react';
import { useState } from 'react';
import { useResource } from '../../api/live.ts';
import { useRights } from '../../api/rights.ts';
import { Failure } from '../../parts/failure.tsx';
import { Loading, Page } from '../../parts/page.tsx';
import { Deliveries } from './deliveries/deliveries.tsx';
import { DeliveryDrawer } from './deliveries/delivery-drawer.tsx';
import { EndpointDetail } from './endpoint/endpoint-detail.tsx';
import { EndpointForm } from './endpoint/endpoint-form.tsx';
import { SecretShown } from './endpoint/new-secret.tsx';
import { EndpointList } from './endpoint-list.tsx';
import { useWebhooksSearch } from './parts/search-params.ts';
import type { Endpoint } from './parts/webhook-api-types.ts';
import { Verify } from './verify.tsx';

/** Health changes with every attempt, without an event. */
const HEALTH_MS = 3_000;

export function WebhooksPage() {
  const { search, go } = useWebhooksSearch();
  const { build, why } = useRights();
  const [secret, setSecret] = useState<string | null>(null);
  const { data, error, refetch } = useResource<readonly Endpoint[]>(
    '/webhooks/endpoints',
    ['system.endpoint.*', 'system.delivery.failed'],
    HEALTH_MS,
  );
  const endpoints = data ?? [];
  const open = search.endpoint === undefined ? undefined : endpoints.find(({ id }) => id === search.endpoint);
  return (
    <Page
      title="Webhooks"
      about="Events are sent to your servers, signed, with automatic retries."
      actions={
        <Button
          leftSection={<IconPlus size={16} />}
          disabled={!build}
          title={build ? undefined : why}
          onClick={() => go({ dialog: 'new', endpoint: undefined })}
        >
          New endpoint
        </Button>
      }
    >
      {data === undefined && error === null ? <Loading /> : null}
      {error === null ? null : <Failure error={error} again={() => void refetch()} />}
      {data === undefined || search.endpoint !== undefined ? null : <EndpointList endpoints={endpoints} />}
      {data === undefined || search.endpoint === undefined ? null : (
        <EndpointDetail id={search.endpoint} endpoint={open} onSecret={setSecret} />
      )}
      {data === undefined || (endpoints.length === 0 && search.endpoint === undefined) ? null : (
        <Deliveries endpoints={endpoints} />
      )}
      {open === undefined ? null : <Verify endpoint={open} />}
      {search.dialog === 'new' ? (
        <EndpointForm
          onClose={() => go({ dialog: undefined })}
          onSaved={({ id, secret: created }) => {
            setSecret(created ?? null);
            go({ dialog: undefined, endpoint: id });
          }}
        />
      ) : null}
      {search.delivery === undefined ? null : <DeliveryDrawer key={search.delivery} id={search.delivery} />}
      {secret === null ? null : <SecretShown secret={secret} onClose={() => setSecret(null)} />}
    </Page>
  );
}
