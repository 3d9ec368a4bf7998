/** Versions of a plugin in the database: their differences, and restoring one. */
import { Badge, Button, Code, Group, Stack, Table, Text, Title } from '@mantine/core';
import { request } from '../../api/client.ts';
import { useResource } from '../../api/live.ts';
import { useRights } from '../../api/rights.ts';
import { Failure } from '../../parts/failure.tsx';
import { Loading } from '../../parts/page.tsx';
import { DataTable } from '../../parts/tables/data-table.tsx';
import { useActionWithNotice } from '../../parts/use-action.ts';
import { ActorText } from '../../parts/users/actor.tsx';
import { When } from '../../parts/when.tsx';
import { FileDiff } from './editor/file-diff.tsx';
import type { PluginVersion, WholePlugin, WholeVersion } from './parts/responses.ts';
import { OF_PLUGINS, useFunctionsAgain, usePluginSearch } from './parts/search-params.ts';

export function Versions({ plugin }: { readonly plugin: WholePlugin }) {
  const { search, go } = usePluginSearch();
  const { build, why } = useRights();
  const again = useFunctionsAgain();
  const { busy, run } = useActionWithNotice();
  const path = `/admin/plugins/${encodeURIComponent(plugin.name)}/versions`;
  const { data, error } = useResource<readonly PluginVersion[]>(path, OF_PLUGINS);
  const activate = async (version: number) => {
    await request('POST', `${path}/${version}/activate`);
    await again();
    go({ version: undefined });
  };
  if (error !== null) return <Failure error={error} />;
  if (data === undefined) return <Loading />;
  return (
    <Stack>
      <DataTable label="Versions" columns={['Version', 'Saved', 'Note', { hidden: 'Actions' }]}>
        {data.map(({ version, createdAt, createdBy, note }) => (
          <Table.Tr key={version}>
            <Table.Td>
              {version}{' '}
              {String(version) === plugin.version ? (
                <Badge variant="dot" color="teal" miw="max-content">
                  active
                </Badge>
              ) : null}
            </Table.Td>
            <Table.Td>
              <When at={createdAt} />
              <Text size="xs" c="dimmed">
                {createdBy === null ? null : (
                  <>
                    by <ActorText text={createdBy} />
                  </>
                )}
              </Text>
            </Table.Td>
            <Table.Td>{note}</Table.Td>
            <Table.Td>
              {String(version) === plugin.version ? null : (
                <Group gap="xs" wrap="nowrap">
                  <Button size="compact-xs" variant="default" onClick={() => go({ version: String(version) })}>
                    Compare {version}
                  </Button>
                  <Button
                    size="compact-xs"
                    variant="default"
                    disabled={!build || busy}
                    title={build ? 'Makes it the active version at once' : why}
                    onClick={() => void run(() => activate(version))}
                  >
                    Restore {version}
                  </Button>
                </Group>
              )}
            </Table.Td>
          </Table.Tr>
        ))}
      </DataTable>
      {search.version === undefined ? null : <Compared plugin={plugin} path={`${path}/${search.version}`} />}
    </Stack>
  );
}

function Compared({ plugin, path }: { readonly plugin: WholePlugin; readonly path: string }) {
  const { data: other, error } = useResource<WholeVersion>(path);
  if (error !== null) return <Failure error={error} />;
  if (other === undefined) return <Loading rows={3} />;
  const [before, after] = [textsOf(other), textsOf(plugin)];
  const changed = [...new Set([...Object.keys(before), ...Object.keys(after)])].filter(
    (name) => before[name] !== after[name],
  );
  return (
    <Stack gap="sm">
      <Title order={3} size="h5">
        From version {other.version} to the active version
      </Title>
      {changed.length === 0 ? <Text size="sm">No differences</Text> : null}
      {changed.map((name) => (
        <div key={name}>
          <Code>{name}</Code>
          <FileDiff before={before[name] ?? ''} after={after[name] ?? ''} />
        </div>
      ))}
    </Stack>
  );
}

/** Its files, with the manifest as one of them. */
function textsOf({ manifest, files }: Pick<WholeVersion, 'manifest' | 'files'>): Readonly<Record<string, string>> {
  return { 'plugin.json': JSON.stringify(manifest, null, 2), ...files };
}
