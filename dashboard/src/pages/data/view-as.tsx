/** Looks at the list as somebody else: a user, a role, a key, or nobody. */
import { Alert, Button, Group, NativeSelect, Popover, Stack, TextInput } from '@mantine/core';
import { IconEye } from '@tabler/icons-react';
import { useState } from 'react';
import { Actor } from '../../parts/accounts/actor.tsx';
import { ChooseKey, ChooseUser } from '../../parts/accounts/choose-account.tsx';

interface ViewAsProps {
  readonly may: boolean;
  readonly why: string;
  /** The value of `Millrace-As`; undefined for oneself. */
  readonly as: string | undefined;
  readonly onChange: (as: string | undefined) => void;
}

const KINDS = [
  { value: 'user', label: 'A user' },
  { value: 'role', label: 'A role' },
  { value: 'key', label: 'An API key' },
  { value: 'anonymous', label: 'Anybody, without an account' },
];

/** The list must lie in the popover: it would close at a click outside. */
const WITHIN = { size: 'xs', comboboxProps: { withinPortal: false } } as const;

export function ViewAs({ may, why, as, onChange }: ViewAsProps) {
  const [isOpen, setOpen] = useState(false);
  const [kind, setKind] = useState('user');
  const [value, setValue] = useState<string | null>(null);
  const chosen = kind === 'anonymous' ? kind : value === null || value === '' ? undefined : `${kind}:${value}`;
  return (
    <Popover position="bottom-start" width={300} opened={isOpen} onChange={setOpen} trapFocus withinPortal>
      <Popover.Target>
        <Button
          size="xs"
          variant="default"
          leftSection={<IconEye size={16} />}
          disabled={!may}
          {...(may ? {} : { title: why })}
          onClick={() => setOpen(!isOpen)}
        >
          {as === undefined ? 'View as…' : <>As {<Viewer as={as} />}</>}
        </Button>
      </Popover.Target>
      <Popover.Dropdown aria-label="View as">
        <Stack gap="xs">
          <NativeSelect
            size="xs"
            label="View as"
            data={KINDS}
            value={kind}
            onChange={({ currentTarget }) => {
              setKind(currentTarget.value);
              setValue(null);
            }}
          />
          {kind === 'user' ? <ChooseUser {...WITHIN} value={value} onChange={setValue} /> : null}
          {kind === 'key' ? <ChooseKey {...WITHIN} value={value} onChange={setValue} /> : null}
          {kind === 'role' ? (
            <TextInput
              size="xs"
              label="Role"
              value={value ?? ''}
              onChange={({ currentTarget }) => setValue(currentTarget.value)}
            />
          ) : null}
          <Button
            size="xs"
            disabled={chosen === undefined}
            onClick={() => {
              onChange(chosen);
              setOpen(false);
            }}
          >
            Look
          </Button>
        </Stack>
      </Popover.Dropdown>
    </Popover>
  );
}

/** Whose view it is, by the name that people know. */
function Viewer({ as }: { readonly as: string }) {
  const [kind = '', name = ''] = as.split(/:(.*)/s);
  if (kind === 'user' || kind === 'key') return <Actor kind={kind} id={name} plain />;
  return kind === 'role' ? `the role ${name}` : 'anybody without an account';
}

/** Says over the grid whose view it is. */
export function ViewedAs({ as, onEnd }: { readonly as: string; readonly onEnd: () => void }) {
  return (
    <Alert
      color="yellow"
      py="xs"
      icon={<IconEye size={18} />}
      title={
        <>
          This is what <Viewer as={as} /> gets
        </>
      }
    >
      <Group justify="space-between">
        Documents that they may not read are left out; members that they do not see are struck out in the headings.
        <Button size="xs" variant="default" onClick={onEnd}>
          Back to my own view
        </Button>
      </Group>
    </Alert>
  );
}
