/** One plugin: its functions, code, tries, runs, versions and secrets. */
import { Alert, Button, Code, Group, List, Stack, Switch, Tabs, Text, Title } from '@mantine/core';
import { useBlocker, useNavigate } from '@tanstack/react-router';
import { useRef, useState } from 'react';
import { request } from '../../api/client.ts';
import { type Tagged, useTagged } from '../../api/live.ts';
import { useRights } from '../../api/rights.ts';
import { Confirm } from '../../parts/confirm.tsx';
import { Failure } from '../../parts/failure.tsx';
import { Loading, Page } from '../../parts/page.tsx';
import { PageLink } from '../../parts/page-link.tsx';
import { useToldAction } from '../../parts/use-action.ts';
import { CodeTab } from './editor/code-tab.tsx';
import type { Draft } from './editor/draft.ts';
import { TryTab } from './editor/try-tab.tsx';
import { FunctionTable } from './function-table.tsx';
import type { WholePlugin } from './parts/answers.ts';
import { OF_PLUGINS, useFunctionsAgain, usePluginPlace } from './parts/place.ts';
import type { PluginTab } from './parts/route.ts';
import { Runs } from './runs/runs.tsx';
import { Secrets } from './secrets.tsx';
import { Versions } from './versions.tsx';

export function PluginPage() {
  const { plugin: name } = usePluginPlace();
  const { data, error, refetch } = useTagged<WholePlugin>(`/admin/plugins/${encodeURIComponent(name)}`, OF_PLUGINS);
  const isOf = data?.body.name === name;
  return (
    <Page title="Functions" about={<PageLink to="/functions">All plugins</PageLink>}>
      {!isOf && error === null ? <Loading /> : null}
      {error === null ? null : <Failure error={error} again={() => void refetch()} />}
      {data === undefined || !isOf || error !== null ? null : <PluginView key={name} tagged={data} />}
    </Page>
  );
}

function PluginView({ tagged }: { readonly tagged: Tagged<WholePlugin> }) {
  const { search, go } = usePluginPlace();
  const { build } = useRights();
  const again = useFunctionsAgain();
  const navigate = useNavigate();
  /** It was deleted: this page has nothing to show any more. */
  const isGone = useRef(false);
  const [draft, setDraft] = useState<Draft | null>(null);
  // Another tab of this page keeps the draft; another page would lose it.
  useBlocker({
    shouldBlockFn: ({ current, next }) =>
      draft !== null &&
      !isGone.current &&
      current.pathname !== next.pathname &&
      !window.confirm('What you have changed is not saved. Leave it?'),
    enableBeforeUnload: () => draft !== null,
  });
  const { body: plugin } = tagged;
  const tab: PluginTab = search.tab ?? 'code';
  const isInFolder = plugin.from === 'folder';
  return (
    <Stack gap="md">
      <Head plugin={plugin} />
      {plugin.faults.length === 0 ? null : (
        <Alert color="red" variant="light" title="The newest version is not in force">
          <List size="sm">
            {plugin.faults.map((fault) => (
              <List.Item key={fault}>{fault}</List.Item>
            ))}
          </List>
        </Alert>
      )}
      <FunctionTable plugin={plugin} />
      <Tabs value={tab} onChange={(value) => go({ tab: (value ?? 'code') as PluginTab })} keepMounted={false}>
        <Tabs.List>
          <Tabs.Tab value="code">Code{draft === null ? '' : ' ·  not saved'}</Tabs.Tab>
          <Tabs.Tab value="try">Try</Tabs.Tab>
          <Tabs.Tab value="runs">Runs</Tabs.Tab>
          {isInFolder ? null : <Tabs.Tab value="versions">Versions</Tabs.Tab>}
          <Tabs.Tab value="secrets">Secrets</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="code" pt="md">
          <CodeTab tagged={tagged} draft={draft} onDraft={setDraft} />
        </Tabs.Panel>
        <Tabs.Panel value="try" pt="md">
          <TryTab plugin={plugin} draft={draft} />
        </Tabs.Panel>
        <Tabs.Panel value="runs" pt="md">
          <Runs plugin={plugin.name} functions={plugin.functions.map((fn) => fn.name)} search={search} go={go} />
        </Tabs.Panel>
        <Tabs.Panel value="versions" pt="md">
          {isInFolder ? null : <Versions plugin={plugin} />}
        </Tabs.Panel>
        <Tabs.Panel value="secrets" pt="md">
          <Secrets plugin={plugin} />
        </Tabs.Panel>
      </Tabs>
      {search.dialog === 'delete' && build && !isInFolder ? (
        <Confirm
          title={`Delete the plugin ${plugin.name}`}
          verb="Delete"
          name={plugin.name}
          onConfirm={async () => {
            await request('DELETE', `/admin/plugins/${encodeURIComponent(plugin.name)}`);
            isGone.current = true;
            await navigate({ to: '/functions' });
            await again();
          }}
          onClose={() => {
            if (!isGone.current) go({ dialog: undefined });
          }}
        >
          Its functions run no more. Its versions and secrets are deleted with it; its runs stay.
        </Confirm>
      ) : null}
    </Stack>
  );
}

function Head({ plugin }: { readonly plugin: WholePlugin }) {
  const { go } = usePluginPlace();
  const { build, why } = useRights();
  const again = useFunctionsAgain();
  const { busy, run } = useToldAction();
  const isInFolder = plugin.from === 'folder';
  const enable = async (enabled: boolean) => {
    await request('PATCH', `/admin/plugins/${encodeURIComponent(plugin.name)}`, { body: { enabled } });
    await again();
  };
  return (
    <Group justify="space-between" align="flex-start">
      <div>
        <Title order={2} size="h4">
          {plugin.name}
        </Title>
        <Text size="sm" c="dimmed" component="div">
          {isInFolder ? 'In a folder of the server' : 'In the database'}, version{' '}
          <Code>{plugin.version.slice(0, 12)}</Code>
        </Text>
      </div>
      <Group gap="sm">
        <Switch
          label="In force"
          checked={plugin.enabled}
          disabled={!build || busy}
          title={build ? 'Switched off, none of its functions runs' : why}
          onChange={({ currentTarget: { checked } }) => void run(() => enable(checked))}
        />
        <Button
          size="xs"
          variant="default"
          disabled={!build || isInFolder}
          title={build ? (isInFolder ? 'Remove its folder from the server' : undefined) : why}
          onClick={() => go({ dialog: 'delete' })}
        >
          Delete
        </Button>
      </Group>
    </Group>
  );
}
