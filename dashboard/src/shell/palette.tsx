/** `Ctrl K`: goes to a page, a collection, a document or a user, and starts the most common actions. */
import {
  createSpotlight,
  Spotlight,
  type SpotlightActionData,
  type SpotlightActionGroupData,
} from '@mantine/spotlight';
import {
  IconBolt,
  IconDatabasePlus,
  IconFileText,
  IconKey,
  IconLock,
  IconLogout,
  IconSearch,
  IconTable,
  IconUserCircle,
  IconUserPlus,
  IconUserSearch,
  IconWebhook,
} from '@tabler/icons-react';
import { useNavigate } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { useResource, useSession } from '../api/live.ts';
import { type Rights, useRights } from '../api/rights.ts';
import { session } from '../api/session.ts';
import { numberText } from '../parts/numbers.ts';
import { PAGES } from './navigation.ts';
import { useFound } from './palette-search.ts';

interface ListedCollection {
  readonly name: string;
  readonly documents: number;
}

/** More would not be read. */
const MAX_SHOWN = 24;

const SEARCH = 'palette-search';

const [store, palette] = createSpotlight();
export const openPalette = palette.open;

/** Actions that open a page with its form; `right` is what a user needs for it. */
const BEGINNINGS = [
  { to: '/data?create=true', title: 'New collection', icon: IconDatabasePlus, right: 'build' },
  { to: '/policies?policy=new', title: 'New policy', icon: IconLock, right: 'build' },
  { to: '/functions?dialog=new', title: 'New plugin', icon: IconBolt, right: 'build' },
  { to: '/webhooks?dialog=new', title: 'New endpoint', icon: IconWebhook, right: 'build' },
  { to: '/users?create=true', title: 'New user', icon: IconUserPlus, right: 'accounts' },
  { to: '/keys?create=true', title: 'New key', icon: IconKey, right: 'accounts' },
] as const satisfies readonly { readonly right: keyof Rights; readonly [name: string]: unknown }[];

export function Palette() {
  const [typed, setTyped] = useState('');
  const { data: collections = [], refetch } = useResource<readonly ListedCollection[]>('/admin/collections');
  const actions = useActions();
  const go = useGo();
  const { documents, people } = useFound(
    typed,
    collections.map(({ name }) => name),
  );
  const found = [...documents, ...people].map(({ id }) => id).join(' ');
  useEffect(() => {
    if (found !== '') chooseFirst();
  }, [found]);
  const groups: SpotlightActionGroupData[] = [
    {
      group: 'Pages',
      actions: PAGES.map(({ to, title, about, icon: Icon }) => ({
        id: to,
        label: title,
        description: about,
        leftSection: <Icon size={18} />,
        onClick: go(to),
      })),
    },
    {
      group: 'Collections',
      actions: collections.map(({ name, documents: count }) => ({
        id: `collection ${name}`,
        label: name,
        description: `${numberText(count)} documents`,
        leftSection: <IconTable size={18} />,
        onClick: go(`/data/${encodeURIComponent(name)}`),
      })),
    },
    { group: 'Actions', actions },
    {
      group: 'Documents',
      actions: documents.map(({ collection, id }) => ({
        id: `document ${collection} ${id}`,
        label: id,
        description: `Document of ${collection}`,
        leftSection: <IconFileText size={18} />,
        keywords: [typed],
        onClick: go(`/data/${encodeURIComponent(collection)}?doc=${encodeURIComponent(id)}`),
      })),
    },
    {
      group: 'Users',
      actions: people.map(({ id, username, email, roles }) => ({
        id: `account ${id}`,
        label: username ?? email ?? id,
        description: [username === null ? null : email, ...roles].filter((word) => word !== null).join(' · '),
        leftSection: <IconUserSearch size={18} />,
        keywords: [typed],
        onClick: go(`/users?user=${encodeURIComponent(id)}`),
      })),
    },
  ];
  return (
    <Spotlight
      store={store}
      actions={groups.filter((group) => group.actions.length > 0)}
      query={typed}
      onQueryChange={setTyped}
      // A write creates its collection without an event.
      onSpotlightOpen={() => void refetch()}
      limit={MAX_SHOWN}
      attributes={{ content: { 'aria-label': 'Search' } }}
      overlayProps={{ blur: 0 }}
      // Paler text has too little contrast on the selected line.
      styles={{
        actionDescription: { opacity: 1, color: 'inherit' },
        actionBody: { minWidth: 0, overflowWrap: 'anywhere' },
      }}
      scrollable
      scrollAreaProps={{ scrollbars: 'y' }}
      maxHeight="min(560px, 70vh)"
      shortcut={['mod + K']}
      nothingFound="No results"
      searchProps={{
        leftSection: <IconSearch size={18} />,
        placeholder: 'Page, collection, document id, user or action',
        'aria-label': 'Search',
        id: SEARCH,
      }}
    />
  );
}

/**
 * Results of the server arrive after the library has selected the first line, and may be above it. The line before the
 * first is selected, and then the next one as by the arrow key: so Enter opens the first one.
 */
function chooseFirst(): void {
  store.updateState((state) => ({ ...state, selected: -1 }));
  document.getElementById(SEARCH)?.dispatchEvent(new KeyboardEvent('keydown', { code: 'ArrowDown', bubbles: true }));
}

function useActions(): SpotlightActionData[] {
  const rights = useRights();
  const { state } = useSession();
  const go = useGo();
  const begin = BEGINNINGS.filter(({ right }) => rights[right]).map(({ to, title, icon: Icon }) => ({
    id: title,
    label: title,
    leftSection: <Icon size={18} />,
    onClick: go(to),
  }));
  if (state === 'open') return begin;
  return [
    ...begin,
    { id: 'account', label: 'Your account', leftSection: <IconUserCircle size={18} />, onClick: go('/account') },
    {
      id: 'sign out',
      label: 'Sign out',
      leftSection: <IconLogout size={18} />,
      onClick: () => void session.signOut(),
    },
  ];
}

function useGo(): (to: string) => () => void {
  const navigate = useNavigate();
  return (to) => () => void navigate({ href: to });
}
