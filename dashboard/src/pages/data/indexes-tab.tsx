/** The indexes of a collection: listing, creating and dropping. */
import { ActionIcon, Badge, Button, Card, Checkbox, Code, Group, Stack, Table, Text, TextInput } from '@mantine/core';
import { IconTrash } from '@tabler/icons-react';
import { useState } from 'react';
import { request } from '../../api/client.ts';
import { useResource } from '../../api/live.ts';
import { SERVER } from '../../api/server.ts';
import { Confirm } from '../../parts/confirm.tsx';
import { curl } from '../../parts/curl-command.ts';
import { Empty } from '../../parts/empty.tsx';
import { Failure } from '../../parts/failure.tsx';
import { numberText, sizeText } from '../../parts/numbers.ts';
import { Loading } from '../../parts/page.tsx';
import { DataTable } from '../../parts/tables/data-table.tsx';
import { useAction } from '../../parts/use-action.ts';
import { When } from '../../parts/when.tsx';

interface ListedIndex {
  /** A leading `-` is descending. */
  readonly fields: readonly string[];
  readonly unique?: boolean;
  readonly sparse?: boolean;
  /** Null where the database does not report it. */
  readonly sizeBytes?: number | null;
  readonly uses?: number | null;
  readonly since?: string | null;
}

interface IndexesTabProps {
  readonly collection: string;
  /** Fields of a recommended index. */
  readonly requested: string | undefined;
  readonly mayWrite: boolean;
  readonly reason: string;
}

export function IndexesTab({ collection, requested: advised, mayWrite, reason }: IndexesTabProps) {
  const path = `/admin/collections/${encodeURIComponent(collection)}/indexes`;
  const { data, error, refetch } = useResource<readonly ListedIndex[]>(path);
  const [dropped, setDropped] = useState<ListedIndex | null>(null);
  const put = async (requested: readonly ListedIndex[]) => {
    await request('PUT', path, { body: requested });
    await refetch();
  };
  if (error !== null) return <Failure error={error} again={() => void refetch()} />;
  if (data === undefined) return <Loading rows={3} />;
  return (
    <Stack>
      {data.length === 0 ? (
        <Empty title="No indexes yet" command={curl(`-X PUT ${SERVER}${path}`, [{ fields: ['createdAt'] }])}>
          An index speeds up lists that filter or sort by its fields. The id always has an index.
        </Empty>
      ) : (
        <DataTable
          label="Indexes"
          columns={['Fields, in order', 'Kind', { right: 'Size' }, { right: 'Uses' }, { hidden: 'Drop' }]}
        >
          {data.map((index) => (
            <Table.Tr key={JSON.stringify([index.fields, index.unique, index.sparse])}>
              <Table.Td>
                <Code>{index.fields.join(', ')}</Code>
              </Table.Td>
              <Table.Td>
                <Group gap={6}>
                  {index.unique === true || index.sparse === true ? null : <Text size="sm">plain</Text>}
                  {index.unique === true ? <Badge variant="light">unique</Badge> : null}
                  {index.sparse === true ? (
                    <Badge variant="light" color="gray">
                      sparse
                    </Badge>
                  ) : null}
                </Group>
              </Table.Td>
              <Table.Td ta="right">{index.sizeBytes == null ? '–' : sizeText(index.sizeBytes)}</Table.Td>
              <Table.Td ta="right">
                <Uses index={index} />
              </Table.Td>
              <Table.Td ta="right">
                {mayWrite ? (
                  <ActionIcon
                    variant="subtle"
                    color="red"
                    aria-label={`Drop the index ${index.fields.join(', ')}`}
                    onClick={() => setDropped(index)}
                  >
                    <IconTrash size={16} />
                  </ActionIcon>
                ) : null}
              </Table.Td>
            </Table.Tr>
          ))}
        </DataTable>
      )}
      {mayWrite ? (
        <NewIndex advised={advised ?? ''} onCreate={(index) => put([...data, index])} />
      ) : (
        <Text size="sm">{reason}</Text>
      )}
      {dropped === null ? null : (
        <Confirm
          title="Drop index"
          verb="Drop"
          onClose={() => setDropped(null)}
          onConfirm={() => put(data.filter((index) => index !== dropped))}
        >
          Lists that use <Code>{dropped.fields.join(', ')}</Code> become slower.
          {dropped.unique === true ? ' Two documents can then have the same values.' : ''} Rebuilding it can take a long
          time.
        </Confirm>
      )}
    </Stack>
  );
}

function Uses({ index: { uses, since } }: { readonly index: ListedIndex }) {
  if (uses == null) return <span title="The database user of this server has no permission to read it">–</span>;
  return (
    <>
      {numberText(uses)}
      <Text size="xs" c="dimmed" component="div">
        since <When at={since} />
      </Text>
    </>
  );
}

interface NewIndexProps {
  readonly advised: string;
  readonly onCreate: (index: ListedIndex) => Promise<void>;
}

function NewIndex({ advised, onCreate }: NewIndexProps) {
  const [fields, setFields] = useState(advised);
  const [unique, setUnique] = useState(false);
  const [sparse, setSparse] = useState(false);
  const { busy, error, run } = useAction();
  const names = fields.split(',').flatMap((name) => (name.trim() === '' ? [] : [name.trim()]));
  const create = async () => {
    const chosen = { ...(unique ? { unique } : {}), ...(sparse ? { sparse } : {}) };
    if (await run(() => onCreate({ fields: names, ...chosen }))) setFields('');
  };
  return (
    <Card withBorder>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void create();
        }}
      >
        <Stack gap="sm">
          <TextInput
            label="Fields of the new index"
            description="Separated by commas; a leading - means descending: author,-createdAt"
            value={fields}
            onChange={({ currentTarget }) => setFields(currentTarget.value)}
            autoComplete="off"
          />
          <Group>
            <Checkbox
              label="Unique: no two documents have the same values"
              checked={unique}
              onChange={({ currentTarget }) => setUnique(currentTarget.checked)}
            />
            <Checkbox
              label="Sparse: leaves out documents that have none of the fields"
              checked={sparse}
              onChange={({ currentTarget }) => setSparse(currentTarget.checked)}
            />
          </Group>
          {error === null ? null : <Failure error={error} />}
          <Group>
            <Button type="submit" loading={busy} disabled={names.length === 0}>
              Create index
            </Button>
          </Group>
        </Stack>
      </form>
    </Card>
  );
}
