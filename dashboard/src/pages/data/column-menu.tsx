/** Which members are columns. The choice stands in the address. */
import { Button, Checkbox, Popover, ScrollArea, Stack, TextInput } from '@mantine/core';
import { IconColumns } from '@tabler/icons-react';
import { useState } from 'react';
import { type GridColumn, type ShapeMember, typeLabel, typeOf } from './parts/columns.ts';

interface ColumnMenuProps {
  readonly members: readonly ShapeMember[];
  readonly shown: readonly GridColumn[];
  /** Undefined for the choice by itself. */
  readonly onChange: (columns: string | undefined) => void;
}

const ALWAYS = ['_meta.createdAt', '_meta.updatedAt', '_meta.revision', '_meta.createdBy', '_meta.updatedBy'];

export function ColumnMenu({ members, shown, onChange }: ColumnMenuProps) {
  const [wanted, setWanted] = useState('');
  const chosen = shown.map(({ path }) => path).filter((path) => path !== 'id');
  const known = new Map(members.map((member) => [member.path, typeLabel(typeOf(member))]));
  const paths = [...new Set([...known.keys(), ...ALWAYS, ...chosen])].filter(
    (path) => path !== 'id' && path.toLowerCase().includes(wanted.toLowerCase()),
  );
  const toggle = (path: string) => {
    const next = chosen.includes(path) ? chosen.filter((other) => other !== path) : [...chosen, path];
    onChange(next.length === 0 ? 'id' : next.join(','));
  };
  return (
    <Popover position="bottom-start" width={300} trapFocus withinPortal>
      <Popover.Target>
        <Button size="xs" variant="default" leftSection={<IconColumns size={16} />}>
          Columns
        </Button>
      </Popover.Target>
      <Popover.Dropdown aria-label="Columns">
        <Stack gap="xs">
          <TextInput
            size="xs"
            aria-label="Find a member"
            placeholder="Find a member"
            value={wanted}
            onChange={({ currentTarget }) => setWanted(currentTarget.value)}
          />
          <ScrollArea.Autosize mah={300} type="auto">
            <Stack gap={6}>
              {paths.map((path) => (
                <Checkbox
                  key={path}
                  size="xs"
                  label={path}
                  description={known.get(path)}
                  checked={chosen.includes(path)}
                  onChange={() => toggle(path)}
                />
              ))}
            </Stack>
          </ScrollArea.Autosize>
          <Button size="compact-xs" variant="subtle" onClick={() => onChange(undefined)}>
            As at first
          </Button>
        </Stack>
      </Popover.Dropdown>
    </Popover>
  );
}
