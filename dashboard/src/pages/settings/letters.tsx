/** The letters that this installation sends, and what came of the last ones. */
import { Anchor, Badge, Group, SegmentedControl, Stack, Table, Text, Title } from '@mantine/core';
import { useState } from 'react';
import type { ListedLetter, SentLetter } from '../../../../src/admin/letters/letter-shapes.ts';
import { useResource } from '../../api/live.ts';
import { Failure } from '../../parts/failure.tsx';
import { useEffectiveSettings } from '../../parts/installation/effective-settings.ts';
import { Loading } from '../../parts/page.tsx';
import { DataTable } from '../../parts/tables/data-table.tsx';
import { When } from '../../parts/when.tsx';
import { LetterEditor } from './letter-editor.tsx';
import { settingsRoute } from './route.ts';

/** How often what was sent is looked at again, in milliseconds: it makes no events. */
const LOOK_MS = 5_000;
const TITLES: Readonly<Record<string, string>> = { en: 'English', de: 'German' };

export function Letters() {
  const { letter } = settingsRoute.useSearch();
  const navigate = settingsRoute.useNavigate();
  const open = (one: string | undefined) => void navigate({ search: { tab: 'letters', letter: one } });
  const { data, error, refetch } = useResource<readonly ListedLetter[]>('/admin/letters', ['system.setting.*']);
  const { data: settings } = useEffectiveSettings();
  if (error !== null) return <Failure error={error} again={() => void refetch()} />;
  if (data === undefined) return <Loading />;
  const kinds = Map.groupBy(data, ({ kind }) => kind);
  const edited = data.find(({ kind, language }) => `${kind}.${language}` === letter);
  return (
    <Stack>
      <Title order={2} size="h4">
        Letters
      </Title>
      {settings?.mail.way === 'none' ? (
        <Text size="sm">
          No letter is sent: there is no mail server. The tab “Address, files, mail” says how to set it.
        </Text>
      ) : null}
      <DataTable label="Letters" columns={['Kind', 'What for', 'Language']}>
        {[...kinds].map(([kind, letters]) => (
          <Table.Tr key={kind}>
            <Table.Td fw={600}>{kind}</Table.Td>
            <Table.Td>{letters[0]?.about}</Table.Td>
            <Table.Td>
              <Group gap="sm">
                {letters.map(({ language, changedAt }) => (
                  <Group key={language} gap={4} wrap="nowrap">
                    <Anchor
                      component="button"
                      type="button"
                      size="sm"
                      aria-label={`Edit ${kind} in ${TITLES[language] ?? language}`}
                      onClick={() => open(`${kind}.${language}`)}
                    >
                      {TITLES[language] ?? language}
                    </Anchor>
                    {changedAt === null ? null : (
                      <Badge variant="light" tt="none">
                        changed
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
        <LetterEditor
          key={letter}
          kind={edited.kind}
          language={edited.language}
          title={`${edited.about} (${TITLES[edited.language] ?? edited.language})`}
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
  const { data, error } = useResource<readonly SentLetter[]>(`/admin/letters/sent?limit=50${query}`, [], LOOK_MS);
  return (
    <Stack gap="sm">
      <Group justify="space-between">
        <Title order={2} size="h4">
          Sent letters
        </Title>
        <SegmentedControl
          size="xs"
          aria-label="State"
          data={['all', 'waiting', 'sent', 'failed']}
          value={state}
          onChange={setState}
        />
      </Group>
      <Text size="sm" c="dimmed">
        The newest 50 of the last seven days. What the mail server took may still come back to the sender.
      </Text>
      {error === null ? null : <Failure error={error} />}
      {data === undefined ? (
        <Loading rows={2} />
      ) : data.length === 0 ? (
        <Text size="sm">None</Text>
      ) : (
        <DataTable
          label="Sent letters"
          columns={['To', 'Kind', 'State', { right: 'Tries' }, 'Asked for', 'Last error']}
        >
          {data.map((one) => (
            <Table.Tr key={one.id}>
              <Table.Td style={{ overflowWrap: 'anywhere' }}>{one.to}</Table.Td>
              <Table.Td>{one.kind}</Table.Td>
              <Table.Td>
                <StateOf letter={one} />
              </Table.Td>
              <Table.Td ta="right">{one.tries}</Table.Td>
              <Table.Td>
                <When at={one.madeAt} />
              </Table.Td>
              <Table.Td>{one.error ?? '–'}</Table.Td>
            </Table.Tr>
          ))}
        </DataTable>
      )}
    </Stack>
  );
}

function StateOf({ letter }: { readonly letter: SentLetter }) {
  const colour = letter.state === 'sent' ? 'teal' : letter.state === 'failed' ? 'red' : 'yellow';
  return (
    <>
      <Badge variant="light" color={colour} tt="none">
        {letter.state}
      </Badge>
      {letter.nextAt !== null && letter.tries > 0 ? (
        <Text size="xs" c="dimmed">
          next try <When at={letter.nextAt} />
        </Text>
      ) : null}
    </>
  );
}
