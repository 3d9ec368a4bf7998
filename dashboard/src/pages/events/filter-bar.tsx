/** Which events are shown: types, a filter of the event, and a start. */
import { Button, Group, Popover, Stack, Text, TextInput } from '@mantine/core';
import { IconHistory } from '@tabler/icons-react';
import { useEffect, useState } from 'react';
import { useResource } from '../../api/live.ts';
import { Failure } from '../../parts/failure.tsx';
import { NamesInput } from '../../parts/names-input.tsx';
import { useAction } from '../../parts/use-action.ts';
import { positionAt } from './history.ts';
import type { EventsSearch } from './route.ts';

const SYSTEM_TYPES = ['system.*', 'system.file.*', 'system.user.*', 'system.policy.*', 'system.auth.failed'];

interface FilterBarProps {
  readonly search: EventsSearch;
  readonly onChange: (changed: EventsSearch) => void;
}

export function FilterBar({ search, onChange }: FilterBarProps) {
  const { data: collections = [] } = useResource<readonly { readonly name: string }[]>('/admin/collections');
  const given = search.filter === undefined ? '' : JSON.stringify(search.filter);
  const [text, setText] = useState(given);
  const [issue, setIssue] = useState<string | null>(null);
  // The URL may change by a link or by going back.
  useEffect(() => {
    setText(given);
    setIssue(null);
  }, [given]);
  const take = () => {
    if (text.trim() === given) return;
    const filter = text.trim() === '' ? undefined : toFilter(text);
    if (filter === null) return setIssue('Not a JSON object');
    setIssue(null);
    onChange({ filter });
  };
  return (
    <Group align="flex-end" gap="sm">
      <NamesInput
        label="Types"
        placeholder={search.types === undefined ? 'All, or todos.*, system.*' : ''}
        data={[...collections.map(({ name }) => `${name}.*`), ...SYSTEM_TYPES]}
        value={search.types?.split(',') ?? []}
        onChange={(types) => onChange({ types: types.length === 0 ? undefined : types.join(',') })}
        clearable
        flex="1 1 240px"
      />
      <form
        style={{ flex: '2 1 260px' }}
        onSubmit={(event) => {
          event.preventDefault();
          take();
        }}
      >
        <TextInput
          label="Filter"
          placeholder={'{"data.done": true} or {"actor.kind": "user"}'}
          value={text}
          onChange={({ currentTarget }) => setText(currentTarget.value)}
          onBlur={take}
          error={issue}
          spellCheck={false}
        />
      </form>
      <Since since={search.since} onChange={(since) => onChange({ since })} />
    </Group>
  );
}

function toFilter(text: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(text);
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject ? (value as Readonly<Record<string, unknown>>) : null;
  } catch {
    return null;
  }
}

interface SinceProps {
  readonly since: string | undefined;
  readonly onChange: (since: string | undefined) => void;
}

/** The start: a time, for which the position is looked up, or a position. */
function Since({ since, onChange }: SinceProps) {
  const [isOpen, setOpen] = useState(false);
  const [time, setTime] = useState('');
  const [position, setPosition] = useState('');
  const { busy, error, run } = useAction();
  const go = async () => {
    onChange(position === '' ? await positionAt(Date.parse(time)) : position);
    setOpen(false);
  };
  return (
    <Popover opened={isOpen} onChange={setOpen} trapFocus position="bottom-end" withinPortal={false}>
      <Popover.Target>
        <Button variant="default" leftSection={<IconHistory size={16} />} onClick={() => setOpen(!isOpen)}>
          {since === undefined ? 'Since now' : `Since ${since}`}
        </Button>
      </Popover.Target>
      <Popover.Dropdown aria-label="Start time">
        <form
          onSubmit={(event) => {
            event.preventDefault();
            void run(go);
          }}
        >
          <Stack gap="sm" w={260}>
            <Text size="sm">Shows events after a time or a position, oldest first.</Text>
            <TextInput
              label="Time"
              type="datetime-local"
              step={1}
              value={time}
              onChange={({ currentTarget }) => setTime(currentTarget.value)}
            />
            <TextInput
              label="Or position"
              placeholder="1-1042"
              value={position}
              onChange={({ currentTarget }) => setPosition(currentTarget.value.trim())}
            />
            {error === null ? null : <Failure error={error} />}
            <Group justify="flex-end">
              {since === undefined ? null : (
                <Button
                  variant="default"
                  onClick={() => {
                    onChange(undefined);
                    setOpen(false);
                  }}
                >
                  Back to now
                </Button>
              )}
              <Button type="submit" loading={busy} disabled={time === '' && position === ''}>
                Show
              </Button>
            </Group>
          </Stack>
        </form>
      </Popover.Dropdown>
    </Popover>
  );
}
