/** The scripts and the manifest of a plugin: viewed, changed, and stored as a new version. */
import { Alert, Anchor, Button, Group, List, Stack, Tabs, Text, TextInput } from '@mantine/core';
import { useHotkeys } from '@mantine/hooks';
import { notifications } from '@mantine/notifications';
import { useQuery } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import { MillraceError } from '../../../../../client/client.ts';
import { request } from '../../../api/client.ts';
import { type Tagged, useResource } from '../../../api/live.ts';
import { plainRequest } from '../../../api/request-raw-response.ts';
import { useRights } from '../../../api/rights.ts';
import { CodeEditor } from '../../../parts/code/code-editor.tsx';
import { Failure } from '../../../parts/failure.tsx';
import { useActionWithNotice } from '../../../parts/use-action.ts';
import type { WholePlugin } from '../parts/responses.ts';
import { useFunctionsAgain, usePluginSearch } from '../parts/search-params.ts';
import { AddFile } from './add-file.tsx';
import { authorCompletion } from './author-completion.ts';
import { issuesOf } from './diagnostics.ts';
import { manifestCompletion, type OpenApi } from './manifest-completion.ts';
import { bodyOf, type Draft, draftOf, MANIFEST, textOf, withoutFile, withText } from './plugin-draft.ts';

interface CodeTabProps {
  readonly tagged: Tagged<WholePlugin>;
  /** Null without changes. */
  readonly draft: Draft | null;
  readonly onDraft: (draft: Draft | null) => void;
}

export function CodeTab({ tagged: { body: plugin, tag }, draft, onDraft }: CodeTabProps) {
  const { search, go } = usePluginSearch();
  const { build, why } = useRights();
  const [error, setError] = useState<unknown>(null);
  const stored = draftOf(plugin);
  const shown = draft ?? stored;
  const names = [...Object.keys(shown.files).sort(), MANIFEST];
  const file = names.find((name) => name === search.file) ?? names[0] ?? MANIFEST;
  const issues = issuesOf(error, shown);
  const isInFolder = plugin.source === 'folder';
  const mayEdit = build && !isInFolder;
  const complete = useCompletion(file === MANIFEST);
  const edit = (changed: Draft) => {
    const isAsStored = changed.manifest === stored.manifest && sameFiles(changed, stored);
    onDraft(isAsStored && changed.base === stored.base ? null : changed);
  };
  return (
    <Stack gap="sm">
      {mayEdit ? null : (
        <Alert color="gray" py="xs" title={isInFolder ? 'This plugin is in a folder of the server' : 'Read only'}>
          {isInFolder
            ? `Edit its files there: the server loads them when they are saved. Here you can disable it, dry-run it and set its secrets.`
            : why}
        </Alert>
      )}
      {draft !== null && draft.base !== plugin.version ? (
        <Alert color="yellow" py="xs" title={`Version ${plugin.version} was saved meanwhile`}>
          Your changes are based on version {draft.base}. Saving makes yours the active version; “Discard” shows the new
          one.
        </Alert>
      ) : null}
      <Tabs value={file} onChange={(name) => go({ file: name ?? undefined })} variant="outline" keepMounted={false}>
        <Group justify="space-between" align="flex-end" gap="xs">
          <Tabs.List flex={1}>
            {names.map((name) => (
              <Tabs.Tab key={name} value={name}>
                {name}
                {issues.some((issue) => issue.file === name) ? ' (fault)' : ''}
              </Tabs.Tab>
            ))}
          </Tabs.List>
          {mayEdit ? (
            <Group gap="xs">
              <AddFile
                names={names}
                onAdd={(name) => {
                  edit(withText(shown, name, ''));
                  go({ file: name });
                }}
              />
              <Button
                size="xs"
                variant="default"
                disabled={file === MANIFEST}
                title={file === MANIFEST ? 'Every plugin needs a manifest' : undefined}
                onClick={() => edit(withoutFile(shown, file))}
              >
                Remove file
              </Button>
            </Group>
          ) : null}
        </Group>
        <Tabs.Panel value={file}>
          <CodeEditor
            key={`${file} ${mayEdit}`}
            label={file}
            language={file === MANIFEST ? 'json' : 'typescript'}
            lines={16}
            value={textOf(shown, file)}
            readOnly={!mayEdit}
            issues={issues.filter((issue) => issue.file === file)}
            complete={complete}
            onChange={(text) => edit(withText(shown, file, text))}
          />
        </Tabs.Panel>
      </Tabs>
      {issues.length === 0 ? null : (
        <Alert color="red" variant="light" title="Save failed" role="alert">
          <List size="sm">
            {issues.map((issue) => (
              <List.Item key={`${issue.file} ${issue.line} ${issue.column} ${issue.message}`}>
                <Anchor component="button" type="button" size="sm" onClick={() => go({ file: issue.file })}>
                  {issue.file}:{issue.line}:{issue.column}
                </Anchor>{' '}
                {issue.message}
              </List.Item>
            ))}
          </List>
        </Alert>
      )}
      {error === null || issues.length > 0 ? null : <Failure error={error} />}
      {mayEdit ? (
        <SaveBar
          plugin={plugin}
          tag={tag}
          draft={draft}
          onError={setError}
          onDone={() => {
            setError(null);
            onDraft(null);
          }}
        />
      ) : null}
    </Stack>
  );
}

function sameFiles(one: Draft, other: Draft): boolean {
  const names = new Set([...Object.keys(one.files), ...Object.keys(other.files)]);
  return [...names].every((name) => one.files[name] === other.files[name]);
}

interface SaveBarProps {
  readonly plugin: WholePlugin;
  readonly tag: string | null;
  readonly draft: Draft | null;
  readonly onError: (error: unknown) => void;
  /** It was saved, or discarded. */
  readonly onDone: () => void;
}

function SaveBar({ plugin, tag, draft, onError, onDone }: SaveBarProps) {
  const again = useFunctionsAgain();
  const [note, setNote] = useState('');
  const { busy, run } = useActionWithNotice(onError);
  const put = async (changed: Draft) => {
    const path = `/admin/plugins/${encodeURIComponent(plugin.name)}`;
    const body = { ...bodyOf(changed), note: note === '' ? null : note };
    const headers: Record<string, string> = tag === null ? {} : { 'if-match': tag };
    try {
      return (await request<WholePlugin>('PUT', path, { body, headers })).body;
    } catch (problem) {
      // The version that was stored meanwhile is shown above, so that the next attempt is based on it.
      if (problem instanceof MillraceError && problem.status === 412) await again();
      throw problem;
    }
  };
  const save = () => {
    if (draft === null || busy) return;
    void run(async () => {
      const { version } = await put(draft);
      await again();
      onDone();
      setNote('');
      notifications.show({ message: `Version ${version} is active` });
    });
  };
  useHotkeys([['mod+S', save]], [], true);
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        save();
      }}
    >
      <Group gap="xs" align="flex-end">
        <TextInput
          label="Note"
          placeholder="What is new"
          flex={1}
          miw={200}
          maxLength={500}
          value={note}
          onChange={({ currentTarget }) => setNote(currentTarget.value)}
        />
        <Button variant="default" disabled={draft === null} onClick={onDone}>
          Discard
        </Button>
        <Button
          type="submit"
          loading={busy}
          disabled={draft === null}
          title={draft === null ? 'There are no changes' : undefined}
        >
          Save version
        </Button>
      </Group>
      <Text size="xs" c="dimmed" mt={4}>
        A saved version is active at once, in every process. Versions can be compared and restored. Ctrl+Space
        completes, Ctrl+S saves.
      </Text>
    </form>
  );
}

/** Completion of a script, or of the manifest. */
function useCompletion(isManifest: boolean) {
  const { data: types = '' } = useQuery({
    queryKey: ['plugin-types'],
    queryFn: async () => (await plainRequest('GET', '/admin/plugin-types')).text,
  });
  const { data: openApi } = useResource<OpenApi>('/openapi.json');
  return useMemo(
    () => (isManifest ? (openApi === undefined ? () => null : manifestCompletion(openApi)) : authorCompletion(types)),
    [isManifest, types, openApi],
  );
}
