/** One plugin: its functions, code, dry runs, runs, versions and secrets. */
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
import { useActionWithNotice } from '../../parts/use-action.ts';
import { CodeTab } from './editor/code-tab.tsx';
import type { Draft } from './editor/plugin-draft.ts';
import { TryTab } from './editor/try-tab.tsx';
import { FunctionTable } from './function-table.tsx';
import type { WholePlugin } from './parts/responses.ts';
import type { PluginTab } from './parts/route.ts';
import { OF_PLUGINS, useFunctionsAgain, usePluginSearch } from './parts/search-params.ts';
import { Runs } from './runs/runs.tsx';
import { Secrets } from './secrets.tsx';
import { Versions } from './versions.tsx';

export function PluginPage() {
  const { plugin: name } = usePluginSearch();
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
  const { search, go } = usePluginSearch();
  const { build } = useRights();
  const again = useFunctionsAgain();
  const navigate = useNavigate();
  /** It was deleted: this page has nothing to show any more. */
  const isGone = useRef(false);
  const [draft, setDraft] = useState<Draft | null>(null);
  // Another tab of this page keeps unsaved changes; another page would lose them.
  useBlocker({
    shouldBlockFn: ({ current, next }) =>
      draft !== null &&
      !isGone.current &&
      current.pathname !== next.pathname &&
      !window.confirm('Your changes are not saved. Leave this page?'),
    enableBeforeUnload: () => draft !== null,
  });
  const { body: plugin } = tagged;
  const tab: PluginTab = search.tab ?? 'code';
  const isInFolder = plugin.source === 'folder';
  return (
    <Stack gap="md">
      <Head plugin={plugin} />
      {plugin.diagnostics.length === 0 ? null : (
        <Alert color="red" variant="light" title="The newest version is not active">
          <List size="sm">
            {plugin.diagnostics.map((issue) => (
              <List.Item key={issue}>{issue}</List.Item>
            ))}
          </List>
        </Alert>
      )}
      <FunctionTable plugin={plugin} />
      <Tabs value={tab} onChange={(value) => go({ tab: (value ?? 'code') as PluginTab })} keepMounted={false}>
        <Tabs.List>
          <Tabs.Tab value="code">Code{draft === null ? '' : ' ·  not saved'}</Tabs.Tab>
          <Tabs.Tab value="try">Dry run</Tabs.Tab>
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
          Its functions stop running. Its versions and secrets are deleted with it; its runs are kept.
        </Confirm>
      ) : null}
    </Stack>
  );
}

const ISOLATIONS = { plugin: 'calls share contexts', call: 'a new context for each call' } as const;

function Head({ plugin }: { readonly plugin: WholePlugin }) {
  const { go } = usePluginSearch();
  const { build, why } = useRights();
  const again = useFunctionsAgain();
  const { busy, run } = useActionWithNotice();
  const isInFolder = plugin.source === 'folder';
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
          {plugin.isolation === null ? '' : `, ${ISOLATIONS[plugin.isolation]}`}
        </Text>
      </div>
      <Group gap="sm">
        <Switch
          label="Enabled"
          checked={plugin.enabled}
          disabled={!build || busy}
          title={build ? 'While it is disabled, none of its functions run' : why}
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
