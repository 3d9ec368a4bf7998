/** Which fields are columns. The choice is in the URL. */
import { Button, Checkbox, Popover, ScrollArea, Stack, TextInput } from '@mantine/core';
import { IconColumns } from '@tabler/icons-react';
import { useState } from 'react';
import { type GridColumn, type ShapeField, typeLabel, typeOf } from './parts/columns.ts';

interface ColumnMenuProps {
  readonly fields: readonly ShapeField[];
  readonly shown: readonly GridColumn[];
  /** Undefined for the automatic choice. */
  readonly onChange: (columns: string | undefined) => void;
}

const ALWAYS = ['_meta.createdAt', '_meta.updatedAt', '_meta.revision', '_meta.createdBy', '_meta.updatedBy'];

export function ColumnMenu({ fields, shown, onChange }: ColumnMenuProps) {
  const [requested, setRequested] = useState('');
  const chosen = shown.map(({ path }) => path).filter((path) => path !== 'id');
  const known = new Map(fields.map((field) => [field.path, typeLabel(typeOf(field))]));
  const paths = [...new Set([...known.keys(), ...ALWAYS, ...chosen])].filter(
    (path) => path !== 'id' && path.toLowerCase().includes(requested.toLowerCase()),
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
            aria-label="Find a field"
            placeholder="Find a field"
            value={requested}
            onChange={({ currentTarget }) => setRequested(currentTarget.value)}
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
            Reset
          </Button>
        </Stack>
      </Popover.Dropdown>
    </Popover>
  );
}
