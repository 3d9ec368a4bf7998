/** All collections with their size; creating, renaming and dropping. */
import { ActionIcon, Anchor, Badge, Button, Menu, Modal, Stack, Table, Text, TextInput } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { IconDots, IconPencil, IconPlus, IconTrash } from '@tabler/icons-react';
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { request } from '../../api/client.ts';
import { useResource } from '../../api/live.ts';
import { useRights } from '../../api/rights.ts';
import { Confirm } from '../../parts/confirm.tsx';
import { curl } from '../../parts/curl-command.ts';
import { Empty } from '../../parts/empty.tsx';
import { Failure } from '../../parts/failure.tsx';
import { numberText, sizeText } from '../../parts/numbers.ts';
import { Loading, Page } from '../../parts/page.tsx';
import { DataTable } from '../../parts/tables/data-table.tsx';
import { useAction } from '../../parts/use-action.ts';
import { NewCollection } from './new-collection.tsx';

interface SizedCollection {
  readonly name: string;
  readonly documents: number;
  /** Of the documents, without indexes. */
  readonly bytes: number;
  readonly kind: string;
}

/** Collections of other programs whose names no URL accepts. */
const OTHERS = '/admin/collections?reachable=false';

/** Events that change the list or a count in it. */
const FOLLOWED = ['*.created', '*.deleted', '*.dropped', '*.renamed'];

/** Kinds other than plain collections. Only other programs create them. */
const KINDS: Readonly<Record<string, string>> = {
  view: 'A view: a query over another collection, without documents of its own',
  capped: 'A capped collection: new documents replace the oldest ones',
  timeseries: 'A time series collection',
};
/** Kinds whose documents the database does not count. */
const UNCOUNTED = ['view', 'timeseries'];

interface Requested {
  readonly what: 'rename' | 'drop';
  readonly name: string;
}

const route = getRouteApi('/data');

export function CollectionsPage() {
  const { data, error, refetch } = useResource<readonly SizedCollection[]>('/admin/collections', FOLLOWED);
  const { data: others = [] } = useResource<readonly SizedCollection[]>(OTHERS, FOLLOWED);
  const { create } = route.useSearch();
  const navigate = route.useNavigate();
  const [requested, setRequested] = useState<Requested | null>(null);
  const { build, why } = useRights();
  const close = () => setRequested(null);
  return (
    <Page
      title="Data"
      about="Collections of documents. The first document creates its collection; no schema is needed."
      actions={
        <Button
          leftSection={<IconPlus size={16} />}
          disabled={!build}
          {...(build ? {} : { title: why })}
          onClick={() => void navigate({ search: { create: true } })}
        >
          New collection
        </Button>
      }
    >
      {error === null ? null : <Failure error={error} again={() => void refetch()} />}
      {data === undefined && error === null ? <Loading /> : null}
      {data?.length === 0 ? (
        <Empty title="No collections yet" command={curl('/api/todos', { title: 'First' })}>
          A collection contains documents of one kind, such as todos. This request creates one, and it appears here at
          once. The button above does the same.
        </Empty>
      ) : null}
      {data === undefined || data.length === 0 ? null : (
        <DataTable
          label="Collections"
          columns={['Collection', { right: 'Documents' }, { right: 'Size' }, { hidden: 'Actions' }]}
        >
          {data.map(({ name, documents, bytes, kind }) => (
            <Table.Tr key={name}>
              <Table.Td>
                <Anchor component={Link} to={`/data/${encodeURIComponent(name)}`} size="sm" fw={500}>
                  {name}
                </Anchor>
                {kind === 'collection' ? null : (
                  <Badge variant="default" ml="xs" title={KINDS[kind]}>
                    {kind}
                  </Badge>
                )}
              </Table.Td>
              <Table.Td ta="right">{UNCOUNTED.includes(kind) ? '–' : numberText(documents)}</Table.Td>
              <Table.Td ta="right">{kind === 'view' ? '–' : sizeText(bytes)}</Table.Td>
              <Table.Td ta="right">
                {build ? <CollectionMenu name={name} isView={kind === 'view'} onRequest={setRequested} /> : null}
              </Table.Td>
            </Table.Tr>
          ))}
        </DataTable>
      )}
      {others.length === 0 ? null : (
        <Stack gap="xs" mt="lg">
          <Text size="sm">
            These collections were created by other programs, and their names are not valid in the API, such as names
            with dots. Rename them, or create a database view with a valid name.
          </Text>
          <DataTable
            label="Collections with invalid names"
            columns={['Collection', { right: 'Documents' }, { hidden: 'Actions' }]}
          >
            {others.map(({ name, documents, kind }) => (
              <Table.Tr key={name}>
                <Table.Td>{name}</Table.Td>
                <Table.Td ta="right">{UNCOUNTED.includes(kind) ? '–' : numberText(documents)}</Table.Td>
                <Table.Td ta="right">
                  {build && kind !== 'view' ? (
                    <Button size="compact-sm" variant="default" onClick={() => setRequested({ what: 'rename', name })}>
                      Rename {name}
                    </Button>
                  ) : null}
                </Table.Td>
              </Table.Tr>
            ))}
          </DataTable>
        </Stack>
      )}
      {create === true && build ? <NewCollection onClose={() => void navigate({ search: {} })} /> : null}
      {requested?.what === 'rename' ? <Rename name={requested.name} onClose={close} /> : null}
      {requested?.what === 'drop' ? <Drop name={requested.name} onClose={close} /> : null}
    </Page>
  );
}

interface CollectionMenuProps {
  readonly name: string;
  readonly isView: boolean;
  readonly onRequest: (requested: Requested) => void;
}

function CollectionMenu({ name, isView, onRequest }: CollectionMenuProps) {
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <ActionIcon variant="subtle" color="gray" aria-label={`Actions for ${name}`}>
          <IconDots size={16} />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        {isView ? null : (
          <Menu.Item leftSection={<IconPencil size={14} />} onClick={() => onRequest({ what: 'rename', name })}>
            Rename
          </Menu.Item>
        )}
        <Menu.Item color="red" leftSection={<IconTrash size={14} />} onClick={() => onRequest({ what: 'drop', name })}>
          Drop
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}

function Rename({ name, onClose }: { readonly name: string; readonly onClose: () => void }) {
  const [to, setTo] = useState(name);
  const { busy, error, run } = useAction();
  const navigate = useNavigate();
  const rename = async () => {
    await request('PATCH', `/admin/collections/${encodeURIComponent(name)}`, { body: { name: to } });
    onClose();
    notifications.show({ message: `Renamed ${name} to ${to}. Policies and clients still use the old name.` });
    await navigate({ href: '/data' });
  };
  return (
    <Modal opened onClose={onClose} title={`Rename ${name}`} centered>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void run(rename);
        }}
      >
        <Stack>
          <TextInput
            label="New name"
            value={to}
            onChange={({ currentTarget }) => setTo(currentTarget.value)}
            data-autofocus
          />
          <Text size="sm">Subscriptions and policies still use the old name. Update them as well.</Text>
          {error === null ? null : <Failure error={error} />}
          <Button type="submit" loading={busy} disabled={to === name || to === ''}>
            Rename
          </Button>
        </Stack>
      </form>
    </Modal>
  );
}

function Drop({ name, onClose }: { readonly name: string; readonly onClose: () => void }) {
  return (
    <Confirm
      title={`Drop ${name}`}
      verb="Drop"
      name={name}
      onClose={onClose}
      onConfirm={() => request('DELETE', `/admin/collections/${encodeURIComponent(name)}`)}
    >
      This deletes all documents and indexes of {name}. It cannot be undone.
    </Confirm>
  );
}
