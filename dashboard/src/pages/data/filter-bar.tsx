/** The filter: rows of conditions, the same as query text, and the command for this list. */
import { ActionIcon, Autocomplete, Button, Card, Group, NativeSelect, Stack, Text, TextInput } from '@mantine/core';
import { useDebouncedCallback } from '@mantine/hooks';
import { IconPlus, IconX } from '@tabler/icons-react';
import { useEffect, useState } from 'react';
import { Command } from '../../parts/copy.tsx';
import { type Condition, JSON_FILTER, OPERATORS, readConditions, writeConditions } from './conditions.ts';
import classes from './filter-bar.module.css';
import type { ShapeField } from './parts/columns.ts';

/** The list is requested this long after the last keystroke, in milliseconds. */
const TYPING_MS = 300;
const EMPTY: Condition = { path: '', operator: 'eq', value: '' };

interface FilterBarProps {
  readonly q: string;
  readonly fields: readonly ShapeField[];
  /** The command for the list. */
  readonly command: string;
  readonly onChange: (q: string | undefined) => void;
}

export function FilterBar({ q, fields, command, onChange }: FilterBarProps) {
  const [rows, setRows] = useState<readonly Condition[]>(() => rowsOf(q));
  const [words, setWords] = useState(q);
  // The URL may change without these fields: by a link, or by going back.
  useEffect(() => {
    setWords((now) => (now === q ? now : q));
    setRows((now) => (written(now) === q ? now : rowsOf(q)));
  }, [q]);
  const apply = useDebouncedCallback((next: string) => onChange(next === '' ? undefined : next), TYPING_MS);
  const change = (next: readonly Condition[]) => {
    setRows(next);
    setWords(written(next));
    apply(written(next));
  };
  const put = (at: number, part: Partial<Condition>) =>
    change(rows.map((row, index) => (index === at ? { ...row, ...part } : row)));
  const paths = [...new Set(['id', ...fields.map(({ path }) => path.replaceAll('[]', '')), '_meta.updatedAt'])];
  return (
    <Card withBorder padding="sm" component="section" aria-label="Filter">
      <Stack gap="xs">
        {rows.map((row, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: conditions are identified by their index
          <Group key={at} gap="xs" wrap="nowrap" align="center" className={classes.condition}>
            <Autocomplete
              aria-label={`Field of condition ${at + 1}`}
              placeholder="field"
              size="xs"
              flex={2}
              data={paths}
              value={row.path}
              onChange={(path) => put(at, { path })}
            />
            <NativeSelect
              aria-label={`Operator of condition ${at + 1}`}
              size="xs"
              flex={2}
              data={operatorsWith(row.operator)}
              value={row.operator}
              disabled={row.path === JSON_FILTER}
              onChange={({ currentTarget }) => put(at, { operator: currentTarget.value })}
            />
            <TextInput
              aria-label={`Value of condition ${at + 1}`}
              placeholder="value"
              size="xs"
              flex={3}
              value={row.value}
              onChange={({ currentTarget }) => put(at, { value: currentTarget.value })}
            />
            <ActionIcon
              variant="subtle"
              color="gray"
              aria-label={`Remove condition ${at + 1}`}
              onClick={() => change(rows.length === 1 ? [EMPTY] : rows.filter((_, index) => index !== at))}
            >
              <IconX size={16} />
            </ActionIcon>
          </Group>
        ))}
        <Group justify="space-between" gap="xs">
          <Button
            size="compact-xs"
            variant="subtle"
            leftSection={<IconPlus size={14} />}
            onClick={() => setRows([...rows, EMPTY])}
          >
            Add condition
          </Button>
          <Text size="xs" c="dimmed">
            All conditions must match. <code>7</code> is a number, <code>"7"</code> a string, <code>$now-7d</code> a
            time.
          </Text>
        </Group>
        <TextInput
          label="As query parameters"
          size="xs"
          placeholder="done=false&seq[gte]=3"
          value={words}
          onChange={({ currentTarget }) => {
            setWords(currentTarget.value);
            setRows(rowsOf(currentTarget.value));
            apply(currentTarget.value);
          }}
          styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)' } }}
        />
        <Command text={command} />
      </Stack>
    </Card>
  );
}

/** Includes the one in the URL, also when there is no such operator: the server reports it. */
function operatorsWith(operator: string) {
  return OPERATORS.some(({ value }) => value === operator)
    ? OPERATORS
    : [...OPERATORS, { value: operator, label: `${operator} (unknown)` }];
}

function rowsOf(q: string): readonly Condition[] {
  const read = readConditions(q);
  return read.length === 0 ? [EMPTY] : read;
}

/** Conditions without a field are incomplete. */
function written(rows: readonly Condition[]): string {
  return writeConditions(rows.filter(({ path }) => path !== ''));
}
