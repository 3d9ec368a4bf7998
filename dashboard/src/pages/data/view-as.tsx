/** Impersonation: shows the list as a user, a role, a key, or an anonymous client. */
import { Alert, Button, Group, NativeSelect, Popover, Stack, TextInput } from '@mantine/core';
import { IconEye } from '@tabler/icons-react';
import { useState } from 'react';
import { Actor } from '../../parts/users/actor.tsx';
import { ChooseKey, ChooseUser } from '../../parts/users/choose-user.tsx';

interface ViewAsProps {
  readonly may: boolean;
  readonly why: string;
  /** The value of `Millrace-As`; undefined without impersonation. */
  readonly as: string | undefined;
  readonly onChange: (as: string | undefined) => void;
}

const KINDS = [
  { value: 'user', label: 'A user' },
  { value: 'role', label: 'A role' },
  { value: 'key', label: 'An API key' },
  { value: 'anonymous', label: 'Anonymous clients' },
];

/** The list must be inside the popover, which would close at a click outside. */
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
            View
          </Button>
        </Stack>
      </Popover.Dropdown>
    </Popover>
  );
}

/** The impersonated principal, by its known name. */
function Viewer({ as }: { readonly as: string }) {
  const [kind = '', name = ''] = as.split(/:(.*)/s);
  if (kind === 'user' || kind === 'key') return <Actor kind={kind} id={name} plain />;
  return kind === 'role' ? `the role ${name}` : 'anonymous clients';
}

/** Shows above the grid who is impersonated. */
export function ViewedAs({ as, onEnd }: { readonly as: string; readonly onEnd: () => void }) {
  return (
    <Alert
      color="yellow"
      py="xs"
      icon={<IconEye size={18} />}
      title={
        <>
          Viewing as <Viewer as={as} />
        </>
      }
    >
      <Group justify="space-between">
        Documents without read permission are left out; hidden fields are struck through in the headings.
        <Button size="xs" variant="default" onClick={onEnd}>
          Stop viewing as
        </Button>
      </Group>
    </Alert>
  );
}
