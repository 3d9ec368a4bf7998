/** The input for one field. A number and JSON are typed as text, which is not always valid. */
import { Switch, Textarea, TextInput } from '@mantine/core';
import { useEffect, useState } from 'react';
import { kindOf } from './field-kinds.ts';
import { isSame } from './use-document.ts';

interface FieldInputProps {
  readonly name: string;
  readonly value: unknown;
  readonly readOnly: boolean;
  readonly onChange: (value: unknown) => void;
  readonly onFaulty: (isFaulty: boolean) => void;
}

const MONOSPACE = { input: { fontFamily: 'var(--mantine-font-family-monospace)', fontSize: 12 } };

export function FieldInput(props: FieldInputProps) {
  const { name, value, readOnly, onChange } = props;
  switch (kindOf(value)) {
    case 'text':
      return (
        <Textarea
          flex={1}
          label={name}
          autosize
          minRows={1}
          maxRows={8}
          readOnly={readOnly}
          value={String(value)}
          onChange={({ currentTarget }) => onChange(currentTarget.value)}
        />
      );
    case 'boolean':
      return (
        <Switch
          flex={1}
          label={name}
          checked={value === true}
          disabled={readOnly}
          onChange={({ currentTarget }) => onChange(currentTarget.checked)}
        />
      );
    case 'null':
      return <TextInput flex={1} label={name} value="null" disabled readOnly />;
    default:
      return <ParsedInput {...props} />;
  }
}

function ParsedInput({ name, value, readOnly, onChange, onFaulty }: FieldInputProps) {
  const isNumber = typeof value === 'number';
  const [text, setText] = useState(() => toText(value));
  const read = parse(text, isNumber);
  // A change from elsewhere: the other view, or the server.
  // biome-ignore lint/correctness/useExhaustiveDependencies: only a new value replaces the text
  useEffect(() => {
    if (read === undefined || !isSame(read, value)) setText(toText(value));
  }, [value]);
  const change = (next: string) => {
    setText(next);
    const parsed = parse(next, isNumber);
    onFaulty(parsed === undefined);
    if (parsed !== undefined) onChange(parsed);
  };
  const shared = {
    flex: 1,
    label: name,
    value: text,
    readOnly,
    error: read === undefined ? (isNumber ? 'Not a number' : 'Not valid JSON') : null,
    onChange: ({ currentTarget }: { currentTarget: { value: string } }) => change(currentTarget.value),
  };
  if (isNumber) return <TextInput {...shared} inputMode="decimal" />;
  return <Textarea {...shared} autosize minRows={2} maxRows={12} styles={MONOSPACE} />;
}

function toText(value: unknown): string {
  const short = JSON.stringify(value);
  return short.length > 60 ? JSON.stringify(value, null, 2) : short;
}

/** @returns undefined when the text is not such a value */
function parse(text: string, isNumber: boolean): unknown {
  try {
    const value: unknown = JSON.parse(text);
    const fits = isNumber ? typeof value === 'number' : typeof value === 'object' && value !== null;
    return fits ? value : undefined;
  } catch {
    return undefined;
  }
}
