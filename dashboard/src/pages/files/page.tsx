/** The files of the instance: a live grid, uploads by drag and drop, and each file with its metadata. */
import {
  Box,
  Button,
  Checkbox,
  FileButton,
  Group,
  Select,
  SimpleGrid,
  Text,
  TextInput,
  Title,
  UnstyledButton,
} from '@mantine/core';
import { useDebouncedCallback } from '@mantine/hooks';
import { IconUpload } from '@tabler/icons-react';
import { type DragEvent, useEffect, useState } from 'react';
import { useRights } from '../../api/rights.ts';
import { curl } from '../../parts/curl-command.ts';
import { Empty } from '../../parts/empty.tsx';
import { Failure } from '../../parts/failure.tsx';
import { numberText } from '../../parts/numbers.ts';
import { Loading, Page } from '../../parts/page.tsx';
import { When } from '../../parts/when.tsx';
import { FileDetail } from './file-detail.tsx';
import { type FileView, sizeText, useFiles } from './file-list.ts';
import classes from './files.module.css';
import { Preview } from './preview.tsx';
import { type FilesSearch, filesRoute } from './route.ts';
import { ChosenFiles } from './selected-files.tsx';
import { useUploads } from './uploads.ts';
import { UploadList } from './uploads-in-progress.tsx';

const KINDS = [
  { value: 'image/', label: 'Images' },
  { value: 'video/', label: 'Videos' },
  { value: 'audio/', label: 'Audio' },
  { value: 'text/', label: 'Text' },
  { value: 'application/', label: 'Other' },
];
/** A request is sent this long after the last keystroke, in milliseconds. */
const TYPED_MS = 250;

export function FilesPage() {
  const search = filesRoute.useSearch();
  const navigate = filesRoute.useNavigate();
  const { build, why } = useRights();
  const { uploads, add, remove, clear } = useUploads();
  const { data, error, hasNextPage, isFetchingNextPage, fetchNextPage, refetch } = useFiles(search);
  const set = (changed: FilesSearch) => void navigate({ search: (before) => ({ ...before, ...changed }) });
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const files = data?.pages.flatMap((page) => page.files) ?? [];
  const isNarrowed = search.name !== undefined || search.type !== undefined;
  return (
    <Page
      title="Files"
      about="Uploads with their metadata. Drop files on the page to upload them."
      actions={
        <FileButton onChange={add} multiple disabled={!build}>
          {(props) => (
            <Button {...props} leftSection={<IconUpload size={16} />} disabled={!build} title={build ? undefined : why}>
              Upload
            </Button>
          )}
        </FileButton>
      }
    >
      <DropArea onFiles={build ? add : null}>
        <Group align="flex-end" gap="sm" mb="md">
          <NameFilter name={search.name} onChange={(name) => set({ name })} />
          <Select
            label="Type"
            placeholder="All"
            data={KINDS}
            value={search.type ?? null}
            onChange={(type) => set({ type: type ?? undefined })}
            clearable
            clearButtonProps={{ 'aria-label': 'Show all types' }}
            w={150}
          />
        </Group>
        <Box mb={uploads.length === 0 ? 0 : 'md'}>
          <UploadList uploads={uploads} onRemove={remove} onClear={clear} />
        </Box>
        {error !== null ? (
          <Failure error={error} again={() => void refetch()} />
        ) : data === undefined ? (
          <Loading />
        ) : files.length === 0 ? (
          <Empty
            title={isNarrowed ? 'No matching files' : 'No files yet'}
            {...(isNarrowed ? {} : { command: `${curl('/files')} -F 'file=@picture.png'` })}
          >
            {isNarrowed ? 'Change the name or the type.' : 'Drop files here, choose Upload, or send one with the API.'}
          </Empty>
        ) : (
          <>
            <Title order={2} size="h5" mb="sm">
              {countText(data.pages[0]?.count ?? files.length)}
            </Title>
            <ChosenFiles chosen={chosen} onChange={setChosen} />
            <SimpleGrid cols={{ base: 2, xs: 3, md: 4, lg: 5, xl: 6 }} spacing="sm" component="ul" p={0} m={0}>
              {files.map((file) => (
                <FileCard
                  key={file.id}
                  file={file}
                  isChosen={build ? chosen.has(file.id) : null}
                  onChoose={() => setChosen((now) => toggled(now, file.id))}
                  onOpen={() => set({ file: file.id })}
                />
              ))}
            </SimpleGrid>
            {hasNextPage ? (
              <Button variant="default" mt="md" onClick={() => void fetchNextPage()} loading={isFetchingNextPage}>
                Load more
              </Button>
            ) : null}
          </>
        )}
      </DropArea>
      {search.file === undefined ? null : <FileDetail id={search.file} onClose={() => set({ file: undefined })} />}
    </Page>
  );
}

function countText(count: number): string {
  return count === 1 ? '1 file' : `${numberText(count)} files`;
}

/** With the id added, or removed if it was there. */
function toggled(ids: ReadonlySet<string>, id: string): ReadonlySet<string> {
  const next = new Set(ids);
  if (!next.delete(id)) next.add(id);
  return next;
}

interface FileCardProps {
  readonly file: FileView;
  /** Null without the right to delete it. */
  readonly isChosen: boolean | null;
  readonly onChoose: () => void;
  readonly onOpen: () => void;
}

function FileCard({ file, isChosen, onChoose, onOpen }: FileCardProps) {
  return (
    <li className={classes.item}>
      {isChosen === null ? null : (
        <Checkbox
          className={classes.choose ?? ''}
          size="md"
          aria-label={`Select ${file.name}`}
          checked={isChosen}
          onChange={onChoose}
        />
      )}
      <UnstyledButton className={classes.card} onClick={onOpen} aria-label={file.name}>
        <Preview file={file} />
        <Box p="xs">
          <Text size="sm" fw={500} truncate title={file.name}>
            {file.name}
          </Text>
          <Text size="xs" c="dimmed" truncate>
            {sizeText(file.size)} · <When at={file.createdAt} />
          </Text>
        </Box>
      </UnstyledButton>
    </li>
  );
}

interface NameFilterProps {
  readonly name: string | undefined;
  readonly onChange: (name: string | undefined) => void;
}

function NameFilter({ name, onChange }: NameFilterProps) {
  const [text, setText] = useState(name ?? '');
  const report = useDebouncedCallback((value: string) => onChange(value === '' ? undefined : value), TYPED_MS);
  // The URL may change by a link or by going back.
  useEffect(() => setText(name ?? ''), [name]);
  return (
    <TextInput
      label="Name"
      placeholder="Part of the name"
      value={text}
      onChange={({ currentTarget: { value } }) => {
        setText(value);
        report(value);
      }}
      flex="1 1 200px"
      maw={420}
    />
  );
}

interface DropAreaProps {
  /** Null without the right to upload. */
  readonly onFiles: ((files: readonly File[]) => void) | null;
  readonly children: React.ReactNode;
}

function DropArea({ onFiles, children }: DropAreaProps) {
  const [isOver, setOver] = useState(false);
  const drag = (event: DragEvent, over: boolean) => {
    // Otherwise the browser leaves the page and opens the dropped file.
    event.preventDefault();
    setOver(over && onFiles !== null);
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the button Upload does the same for the keyboard
    <div
      className={isOver ? `${classes.area} ${classes.over}` : classes.area}
      data-drop
      onDragOver={(event) => drag(event, true)}
      onDragLeave={(event) => drag(event, false)}
      onDrop={(event) => {
        drag(event, false);
        onFiles?.([...event.dataTransfer.files]);
      }}
    >
      {children}
    </div>
  );
}
