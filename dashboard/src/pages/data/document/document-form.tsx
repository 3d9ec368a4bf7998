/** A document as a form: an input for each field, by the type of its value. */
import { Autocomplete, Button, Group, NativeSelect, Stack, Text } from '@mantine/core';
import { IconPlus } from '@tabler/icons-react';
import { useRef, useState } from 'react';
import { PageLink } from '../../../parts/page-link.tsx';
import { type ShapeField, typeLabel, typeOf } from '../parts/columns.ts';
import { FieldInput } from './field-input.tsx';
import { EMPTY_VALUES, KINDS, type Kind, kindOf } from './field-kinds.ts';
import type { Fields } from './use-document.ts';

interface DocumentFormProps {
  readonly draft: Fields;
  readonly fields: readonly ShapeField[];
  readonly readOnly: boolean;
  readonly onChange: (draft: Fields) => void;
  /** Reports the fields whose text is currently invalid. */
  readonly onFaulty: (names: ReadonlySet<string>) => void;
}

/** More suggestions would hide the form. */
const MAX_SUGGESTED = 12;

export function DocumentForm({ draft, fields, readOnly, onChange, onFaulty }: DocumentFormProps) {
  const faulty = useRef<ReadonlySet<string>>(new Set());
  const known = fields.filter(({ path }) => path !== 'id' && !/[.[*]/.test(path));
  const report = (name: string, isFaulty: boolean) => {
    const rest = [...faulty.current].filter((other) => other !== name);
    faulty.current = new Set(isFaulty ? [...rest, name] : rest);
    onFaulty(faulty.current);
  };
  const remove = (name: string) => {
    report(name, false);
    onChange(Object.fromEntries(Object.entries(draft).filter(([other]) => other !== name)));
  };
  const names = Object.keys(draft);
  return (
    <Stack gap="sm">
      {names.length === 0 ? <Text size="sm">The document has no fields yet.</Text> : null}
      {names.map((name) => {
        const value = draft[name];
        const reference = known.find(({ path }) => path === name)?.reference?.collection;
        return (
          <div key={name}>
            <Group gap="xs" align="flex-end" wrap="nowrap">
              <FieldInput
                name={name}
                value={value}
                readOnly={readOnly}
                onChange={(next) => onChange({ ...draft, [name]: next })}
                onFaulty={(isFaulty) => report(name, isFaulty)}
              />
              <NativeSelect
                aria-label={`Type of ${name}`}
                size="sm"
                w={104}
                disabled={readOnly}
                data={[...KINDS, 'remove']}
                value={kindOf(value)}
                onChange={({ currentTarget }) => {
                  const kind = KINDS.find((one) => one === currentTarget.value);
                  report(name, false);
                  if (kind === undefined) remove(name);
                  else onChange({ ...draft, [name]: EMPTY_VALUES[kind] });
                }}
              />
            </Group>
            {reference !== undefined && typeof value === 'string' && value !== '' ? (
              <PageLink to="/data/$collection" params={{ collection: reference }} search={{ doc: value }} size="sm">
                Open in {reference}
              </PageLink>
            ) : null}
          </div>
        );
      })}
      {readOnly ? null : (
        <NewField
          suggested={known.filter(({ path }) => !Object.hasOwn(draft, path))}
          onAdd={(name, kind) => onChange({ ...draft, [name]: EMPTY_VALUES[kind] })}
        />
      )}
    </Stack>
  );
}

function NewField({
  suggested,
  onAdd,
}: {
  readonly suggested: readonly ShapeField[];
  readonly onAdd: (name: string, kind: Kind) => void;
}) {
  const [name, setName] = useState('');
  const kindFor = (path: string) => toKind(suggested.find((field) => field.path === path));
  return (
    <Stack gap={6}>
      <Group gap="xs" align="flex-end" wrap="nowrap">
        <Autocomplete
          flex={1}
          size="xs"
          label="New field"
          placeholder="name"
          value={name}
          onChange={setName}
          data={suggested.map(({ path }) => path)}
        />
        <Button
          size="xs"
          variant="default"
          leftSection={<IconPlus size={14} />}
          disabled={name === ''}
          onClick={() => {
            onAdd(name, kindFor(name));
            setName('');
          }}
        >
          Add
        </Button>
      </Group>
      <Group gap={6}>
        {suggested.slice(0, MAX_SUGGESTED).map(({ path }) => (
          <Button key={path} size="compact-xs" variant="default" onClick={() => onAdd(path, kindFor(path))}>
            + {path}
          </Button>
        ))}
      </Group>
    </Stack>
  );
}

function toKind(field: ShapeField | undefined): Kind {
  const label = typeLabel(typeOf(field));
  if (label === 'object') return 'object';
  if (label === 'array') return 'list';
  return label === 'number' || label === 'boolean' ? label : 'text';
}
