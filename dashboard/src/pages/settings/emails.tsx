/** The templates of the e-mails that this instance sends, and the last e-mails with their states. */
import { Anchor, Badge, Group, SegmentedControl, Stack, Table, Text, Title } from '@mantine/core';
import { useState } from 'react';
import type { EmailLogEntry, EmailTemplateEntry } from '../../../../src/email/http/email-schemas.ts';
import { useResource } from '../../api/live.ts';
import { Failure } from '../../parts/failure.tsx';
import { useEffectiveSettings } from '../../parts/instance/effective-settings.ts';
import { Loading } from '../../parts/page.tsx';
import { DataTable } from '../../parts/tables/data-table.tsx';
import { When } from '../../parts/when.tsx';
import { EmailEditor } from './email-editor.tsx';
import { settingsRoute } from './route.ts';

/** Interval of requests for sent e-mails, in milliseconds: they cause no events. */
const LOOK_MS = 5_000;
const TITLES: Readonly<Record<string, string>> = { en: 'English', de: 'German' };

export function Emails() {
  const { template } = settingsRoute.useSearch();
  const navigate = settingsRoute.useNavigate();
  const open = (one: string | undefined) => void navigate({ search: { tab: 'emails', template: one } });
  const { data, error, refetch } = useResource<readonly EmailTemplateEntry[]>('/admin/email-templates', [
    'system.setting.*',
  ]);
  const { data: settings } = useEffectiveSettings();
  if (error !== null) return <Failure error={error} again={() => void refetch()} />;
  if (data === undefined) return <Loading />;
  const kinds = Map.groupBy(data, ({ kind }) => kind);
  const edited = data.find(({ kind, locale }) => `${kind}.${locale}` === template);
  return (
    <Stack>
      <Title order={2} size="h4">
        E-mail templates
      </Title>
      {settings?.email.transport === 'none' ? (
        <Text size="sm">
          No e-mail is sent: no mail server is set. The tab “URL, files, e-mail” says how to set one.
        </Text>
      ) : null}
      <DataTable label="E-mail templates" columns={['Kind', 'Purpose', 'Language']}>
        {[...kinds].map(([kind, emails]) => (
          <Table.Tr key={kind}>
            <Table.Td fw={600}>{kind}</Table.Td>
            <Table.Td>{emails[0]?.description}</Table.Td>
            <Table.Td>
              <Group gap="sm">
                {emails.map(({ locale, updatedAt }) => (
                  <Group key={locale} gap={4} wrap="nowrap">
                    <Anchor
                      component="button"
                      type="button"
                      size="sm"
                      aria-label={`Edit ${kind} in ${TITLES[locale] ?? locale}`}
                      onClick={() => open(`${kind}.${locale}`)}
                    >
                      {TITLES[locale] ?? locale}
                    </Anchor>
                    {updatedAt === null ? null : (
                      <Badge variant="light" tt="none">
                        customized
                      </Badge>
                    )}
                  </Group>
                ))}
              </Group>
            </Table.Td>
          </Table.Tr>
        ))}
      </DataTable>
      <Sent />
      {edited === undefined ? null : (
        <EmailEditor
          key={template}
          kind={edited.kind}
          locale={edited.locale}
          title={`${edited.description} (${TITLES[edited.locale] ?? edited.locale})`}
          onClose={() => open(undefined)}
          onChanged={() => void refetch()}
        />
      )}
    </Stack>
  );
}

function Sent() {
  const [state, setState] = useState('all');
  const query = state === 'all' ? '' : `&state=${state}`;
  const { data, error } = useResource<readonly EmailLogEntry[]>(`/admin/emails?limit=50${query}`, [], LOOK_MS);
  return (
    <Stack gap="sm">
      <Group justify="space-between">
        <Title order={2} size="h4">
          Recent e-mails
        </Title>
        <SegmentedControl
          size="xs"
          aria-label="State"
          data={['all', 'pending', 'succeeded', 'failed']}
          value={state}
          onChange={setState}
        />
      </Group>
      <Text size="sm" c="dimmed">
        The newest 50 of the last seven days. An e-mail that the mail server accepted can still bounce.
      </Text>
      {error === null ? null : <Failure error={error} />}
      {data === undefined ? (
        <Loading rows={2} />
      ) : data.length === 0 ? (
        <Text size="sm">No e-mails</Text>
      ) : (
        <DataTable
          label="Recent e-mails"
          columns={['To', 'Kind', 'State', { right: 'Attempts' }, 'Created', 'Last error']}
        >
          {data.map((one) => (
            <Table.Tr key={one.id}>
              <Table.Td style={{ overflowWrap: 'anywhere' }}>{one.to}</Table.Td>
              <Table.Td>{one.kind}</Table.Td>
              <Table.Td>
                <StateOf email={one} />
              </Table.Td>
              <Table.Td ta="right">{one.attempts}</Table.Td>
              <Table.Td>
                <When at={one.createdAt} />
              </Table.Td>
              <Table.Td>{one.error ?? '–'}</Table.Td>
            </Table.Tr>
          ))}
        </DataTable>
      )}
    </Stack>
  );
}

function StateOf({ email }: { readonly email: EmailLogEntry }) {
  const colour = email.state === 'succeeded' ? 'teal' : email.state === 'failed' ? 'red' : 'yellow';
  return (
    <>
      <Badge variant="light" color={colour} tt="none">
        {email.state}
      </Badge>
      {email.nextAttemptAt !== null && email.attempts > 0 ? (
        <Text size="xs" c="dimmed">
          next attempt <When at={email.nextAttemptAt} />
        </Text>
      ) : null}
    </>
  );
}
