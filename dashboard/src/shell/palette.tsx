/** `Ctrl K`: goes to a page or a collection. */
import { Spotlight, type SpotlightActionData } from '@mantine/spotlight';
import { IconSearch, IconTable } from '@tabler/icons-react';
import { useNavigate } from '@tanstack/react-router';
import { useResource } from '../api/live.ts';
import { numberText } from '../parts/numbers.ts';
import { PAGES } from './navigation.ts';

interface ListedCollection {
  readonly name: string;
  readonly documents: number;
}

/** More would hide the pages. */
const MAX_SHOWN = 12;

export function Palette() {
  const navigate = useNavigate();
  const { data: collections = [] } = useResource<readonly ListedCollection[]>('/admin/collections');
  const pages: SpotlightActionData[] = PAGES.map(({ to, title, about, icon: Icon }) => ({
    id: to,
    label: title,
    description: about,
    leftSection: <Icon size={18} />,
    onClick: () => void navigate({ href: to }),
  }));
  const places: SpotlightActionData[] = collections.map(({ name, documents }) => ({
    id: `collection ${name}`,
    label: name,
    description: `Collection · ${numberText(documents)} documents`,
    leftSection: <IconTable size={18} />,
    onClick: () => void navigate({ href: `/data/${encodeURIComponent(name)}` }),
  }));
  return (
    <Spotlight
      actions={[...pages, ...places]}
      limit={MAX_SHOWN}
      shortcut={['mod + K']}
      nothingFound="Nothing has this name"
      searchProps={{ leftSection: <IconSearch size={18} />, placeholder: 'Page or collection', 'aria-label': 'Search' }}
    />
  );
}
