/** All collections with their size; a new one, renaming and dropping. */
import { ActionIcon, Anchor, Badge, Button, Menu, Modal, Stack, Table, Text, TextInput } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { IconDots, IconPencil, IconPlus, IconTrash } from '@tabler/icons-react';
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { request } from '../../api/client.ts';
import { useResource } from '../../api/live.ts';
import { useRights } from '../../api/rights.ts';
import { curl } from '../../parts/command.ts';
import { Confirm } from '../../parts/confirm.tsx';
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

/** Collections of other programs whose names no address takes. */
const OTHERS = '/admin/collections?reachable=false';

/** Whatever changes the list or a count in it. */
const FOLLOWED = ['*.created', '*.deleted', '*.dropped', '*.renamed'];

/** What other kinds than plain collections are. Only other programs make them. */
const KINDS: Readonly<Record<string, string>> = {
  view: 'What another collection holds, shown in another way; it holds nothing of its own',
  capped: 'It has a fixed size: new documents take the place of the oldest ones',
  timeseries: 'Measured values by their time',
};
/** Kinds whose documents the database does not count. */
const UNCOUNTED = ['view', 'timeseries'];

interface Asked {
  readonly what: 'rename' | 'drop';
  readonly name: string;
}

const route = getRouteApi('/data');

export function CollectionsPage() {
  const { data, error, refetch } = useResource<readonly SizedCollection[]>('/admin/collections', FOLLOWED);
  const { data: others = [] } = useResource<readonly SizedCollection[]>(OTHERS, FOLLOWED);
  const { create } = route.useSearch();
  const navigate = route.useNavigate();
  const [asked, setAsked] = useState<Asked | null>(null);
  const { build, why } = useRights();
  const close = () => setAsked(null);
  return (
    <Page
      title="Data"
      about="Collections of documents. The first document makes its collection; nothing has to be declared."
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
          A collection holds documents of one kind, such as todos. This request makes one, and it appears here at once.
          You can also make it with the button above.
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
                {build ? <CollectionMenu name={name} isView={kind === 'view'} onAsk={setAsked} /> : null}
              </Table.Td>
            </Table.Tr>
          ))}
        </DataTable>
      )}
      {others.length === 0 ? null : (
        <Stack gap="xs" mt="lg">
          <Text size="sm">
            These collections of other programs have names that the API cannot use, such as names with dots. Rename
            them, or show them under another name by a view of the database.
          </Text>
          <DataTable
            label="Collections with unusable names"
            columns={['Collection', { right: 'Documents' }, { hidden: 'Actions' }]}
          >
            {others.map(({ name, documents, kind }) => (
              <Table.Tr key={name}>
                <Table.Td>{name}</Table.Td>
                <Table.Td ta="right">{UNCOUNTED.includes(kind) ? '–' : numberText(documents)}</Table.Td>
                <Table.Td ta="right">
                  {build && kind !== 'view' ? (
                    <Button size="compact-sm" variant="default" onClick={() => setAsked({ what: 'rename', name })}>
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
      {asked?.what === 'rename' ? <Rename name={asked.name} onClose={close} /> : null}
      {asked?.what === 'drop' ? <Drop name={asked.name} onClose={close} /> : null}
    </Page>
  );
}

interface CollectionMenuProps {
  readonly name: string;
  readonly isView: boolean;
  readonly onAsk: (asked: Asked) => void;
}

function CollectionMenu({ name, isView, onAsk }: CollectionMenuProps) {
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <ActionIcon variant="subtle" color="gray" aria-label={`Actions for ${name}`}>
          <IconDots size={16} />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        {isView ? null : (
          <Menu.Item leftSection={<IconPencil size={14} />} onClick={() => onAsk({ what: 'rename', name })}>
            Rename
          </Menu.Item>
        )}
        <Menu.Item color="red" leftSection={<IconTrash size={14} />} onClick={() => onAsk({ what: 'drop', name })}>
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
    notifications.show({ message: `${name} is now ${to}. Policies and clients keep the old name.` });
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
          <Text size="sm">Subscriptions and policies keep the old name. Change them as well.</Text>
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
      All documents and indexes of {name} are deleted. This cannot be undone.
    </Confirm>
  );
}
