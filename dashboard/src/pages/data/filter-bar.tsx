/** The filter: rows of conditions, the same as words of the query, and the command that gets this list. */
import { ActionIcon, Autocomplete, Button, Card, Group, NativeSelect, Stack, Text, TextInput } from '@mantine/core';
import { useDebouncedCallback } from '@mantine/hooks';
import { IconPlus, IconX } from '@tabler/icons-react';
import { useEffect, useState } from 'react';
import { Command } from '../../parts/copy.tsx';
import { type Condition, JSON_FILTER, OPERATORS, readConditions, writeConditions } from './conditions.ts';
import classes from './filter-bar.module.css';
import type { ShapeMember } from './parts/columns.ts';

/** The list is asked for when nobody has typed for this long, in milliseconds. */
const TYPING_MS = 300;
const EMPTY: Condition = { path: '', operator: 'eq', value: '' };

interface FilterBarProps {
  readonly q: string;
  readonly members: readonly ShapeMember[];
  /** The command that gets the list. */
  readonly command: string;
  readonly onChange: (q: string | undefined) => void;
}

export function FilterBar({ q, members, command, onChange }: FilterBarProps) {
  const [rows, setRows] = useState<readonly Condition[]>(() => rowsOf(q));
  const [words, setWords] = useState(q);
  // The address may change without these fields: by a link, or by going back.
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
  const paths = [...new Set(['id', ...members.map(({ path }) => path.replaceAll('[]', '')), '_meta.updatedAt'])];
  return (
    <Card withBorder padding="sm" component="section" aria-label="Filter">
      <Stack gap="xs">
        {rows.map((row, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a condition is nothing but its place
          <Group key={at} gap="xs" wrap="nowrap" align="center" className={classes.condition}>
            <Autocomplete
              aria-label={`Member of condition ${at + 1}`}
              placeholder="member"
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
            All conditions must hold. <code>7</code> is a number, <code>"7"</code> a text, <code>$now-7d</code> a time.
          </Text>
        </Group>
        <TextInput
          label="As words of the address"
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

/** With the one that the address has, also when there is no such operator: the server says so. */
function operatorsWith(operator: string) {
  return OPERATORS.some(({ value }) => value === operator)
    ? OPERATORS
    : [...OPERATORS, { value: operator, label: `${operator} (not known)` }];
}

function rowsOf(q: string): readonly Condition[] {
  const read = readConditions(q);
  return read.length === 0 ? [EMPTY] : read;
}

/** Conditions without a member are not yet ready. */
function written(rows: readonly Condition[]): string {
  return writeConditions(rows.filter(({ path }) => path !== ''));
}
