/** Adds a script to a plugin. */
import { Button, Group, Popover, Stack, TextInput } from '@mantine/core';
import { IconPlus } from '@tabler/icons-react';
import { useState } from 'react';

interface AddFileProps {
  /** Names in use. */
  readonly names: readonly string[];
  readonly onAdd: (name: string) => void;
}

export function AddFile({ names, onAdd }: AddFileProps) {
  const [isOpen, setOpen] = useState(false);
  const [name, setName] = useState('');
  const issue = issueOf(name.trim(), names);
  return (
    <Popover opened={isOpen} onChange={setOpen} trapFocus withinPortal={false} position="bottom-end">
      <Popover.Target>
        <Button size="xs" variant="default" leftSection={<IconPlus size={14} />} onClick={() => setOpen(!isOpen)}>
          Add file
        </Button>
      </Popover.Target>
      <Popover.Dropdown aria-label="New file">
        <form
          onSubmit={(event) => {
            event.preventDefault();
            if (issue !== null) return;
            onAdd(name.trim());
            setName('');
            setOpen(false);
          }}
        >
          <Stack gap="xs">
            <TextInput
              label="Path"
              placeholder="lib/tax.ts"
              data-autofocus
              value={name}
              error={name === '' ? undefined : issue}
              onChange={({ currentTarget }) => setName(currentTarget.value)}
            />
            <Group justify="flex-end">
              <Button type="submit" size="xs" disabled={issue !== null}>
                Add
              </Button>
            </Group>
          </Stack>
        </form>
      </Popover.Dropdown>
    </Popover>
  );
}

function issueOf(name: string, names: readonly string[]): string | null {
  if (!/\.(?:ts|js|mjs)$/.test(name)) return 'Scripts must end in .ts, .js or .mjs';
  return names.includes(name) ? 'This file already exists' : null;
}
