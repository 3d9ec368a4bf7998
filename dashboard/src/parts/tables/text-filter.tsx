/** A text that filters a list. It applies with Enter, or when the input loses focus. */
import { TextInput } from '@mantine/core';
import { useState } from 'react';

interface TextFilterProps {
  readonly label: string;
  readonly placeholder: string;
  /** The current filter. */
  readonly value: string | undefined;
  readonly onValue: (value: string | undefined) => void;
}

export function TextFilter(props: TextFilterProps) {
  // The current filter may change by a link or by going back: then the input is reset.
  return <Typed key={props.value} {...props} />;
}

function Typed({ label, placeholder, value = '', onValue }: TextFilterProps) {
  const [typed, setTyped] = useState(value);
  const apply = () => {
    if (typed !== value) onValue(typed === '' ? undefined : typed);
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        apply();
      }}
    >
      <TextInput
        label={label}
        size="xs"
        placeholder={placeholder}
        value={typed}
        onChange={({ currentTarget }) => setTyped(currentTarget.value)}
        onBlur={apply}
      />
    </form>
  );
}
