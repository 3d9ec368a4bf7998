/** One service: the steps that connect it, with the URL of this instance. */
import { Alert, Anchor, List, Stack, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { useRights } from '../../api/rights.ts';
import { BASE_PATH, SERVER } from '../../api/server.ts';
import { Copyable } from '../../parts/copy.tsx';
import { PageLink } from '../../parts/page-link.tsx';
import { AccessForm } from './access-policies-form.tsx';
import type { ServiceName } from './route.ts';

export const TITLES: Readonly<Record<ServiceName, string>> = { zapier: 'Zapier', n8n: 'n8n', other: 'Make and others' };

/** The steps in the service, after it has a key. */
const STEPS: Readonly<Record<ServiceName, readonly ReactNode[]>> = {
  zapier: [
    <>
      Once: push the app in <code>integrations/zapier</code> of the source code to your Zapier account. Its README says
      how.
    </>,
    <>
      In Zapier, add a connection of the app. <b>Base URL</b> is the URL below, <b>API Key</b> is the key.
    </>,
    <>
      Choose a trigger: <b>Document Created</b>, <b>Document Updated</b>, <b>Document Deleted</b> or{' '}
      <b>File Uploaded</b>. When the Zap is switched on, its hook appears below.
    </>,
  ],
  n8n: [
    <>
      Once: install the node in <code>integrations/n8n</code> of the source code in your n8n. Its README says how.
    </>,
    <>
      In n8n, create a credential <b>Millrace API</b>. <b>Base URL</b> is the URL below, <b>API Key</b> is the key.
    </>,
    <>
      Start a workflow with <b>Millrace Trigger</b>, and write with <b>Millrace</b>. When the workflow is active, its
      hook appears below. The node verifies the signature of each request.
    </>,
  ],
  other: [
    <>
      In Make, start a scenario with <b>Webhooks: Custom webhook</b> and copy its URL. Any service that gives you a
      webhook URL works.
    </>,
    <>
      Subscribe this URL with the request under <b>Custom code</b>. The hook appears below.
    </>,
    <>
      To read and write, let the service send requests with the header <code>authorization: Bearer</code> and the key.{' '}
      The <Anchor href={`${BASE_PATH}/docs`}>API reference</Anchor> lists all of them.
    </>,
  ],
};

export function Service({ name }: { readonly name: ServiceName }) {
  const { accounts } = useRights();
  const title = name === 'other' ? 'Automation' : TITLES[name];
  return (
    <Stack gap="sm">
      <List type="ordered" spacing="xs" size="sm">
        <List.Item>
          {accounts ? (
            <PageLink to="/keys" search={{ create: true }} size="sm">
              Create a key
            </PageLink>
          ) : (
            'Let an administrator with the role owner or manager create a key'
          )}{' '}
          for this service only: then you can revoke it alone, and its hooks with it.
        </List.Item>
        <List.Item>Allow what the key needs with policies. These two are enough:</List.Item>
      </List>
      <AccessForm title={title} />
      <List type="ordered" spacing="xs" size="sm" start={3}>
        {STEPS[name].map((step, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the steps never change
          <List.Item key={index}>{step}</List.Item>
        ))}
      </List>
      <Text size="sm">The URL of this instance:</Text>
      <Copyable text={SERVER} what="the URL" />
      {isLocal(location.hostname) && name !== 'n8n' ? (
        <Alert color="yellow" py="xs" title="The service cannot reach this URL">
          It points to this machine, but the service runs elsewhere. The service still receives events, but cannot
          subscribe, read or write. Give the instance a public URL or a tunnel.
        </Alert>
      ) : null}
    </Stack>
  );
}

/** Whether a host name resolves to the machine of the browser itself. */
function isLocal(host: string): boolean {
  return host === 'localhost' || host.endsWith('.localhost') || host === '[::1]' || /^127\./.test(host);
}
