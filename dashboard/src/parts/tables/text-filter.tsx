/** A text by which a list is filtered. It applies with Enter, or when the field is left. */
import { TextInput } from '@mantine/core';
import { useState } from 'react';

interface TextFilterProps {
  readonly label: string;
  readonly placeholder: string;
  /** What applies now. */
  readonly value: string | undefined;
  readonly onValue: (value: string | undefined) => void;
}

export function TextFilter(props: TextFilterProps) {
  // What applies may change by a link or by going back: then the field begins anew.
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
