/** An input for several names, with the known ones to choose from. The list closes after each name. */
import { TagsInput, type TagsInputProps } from '@mantine/core';
import { useState } from 'react';

export function NamesInput({ onChange, ...props }: TagsInputProps) {
  const [isOpen, setOpen] = useState(false);
  return (
    <TagsInput
      {...props}
      dropdownOpened={isOpen}
      onDropdownOpen={() => setOpen(true)}
      onDropdownClose={() => setOpen(false)}
      onChange={(names) => {
        // Open, it would hide the inputs below.
        setOpen(false);
        onChange?.(names);
      }}
    />
  );
}
