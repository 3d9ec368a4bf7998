/** Changes one simple value in its cell. Enter keeps it, Escape leaves it. */
import { useState } from 'react';
import { stepsOf } from '../../../parts/field-path.ts';
import type { GridDocument } from './document-pages.ts';
import classes from './grid.module.css';

export interface CellTarget {
  readonly document: GridDocument;
  readonly path: string;
}

/** The actions of a cell. The same object through all drawings. */
export interface CellActions {
  readonly focus: (row: number, column: number) => void;
  readonly open: (id: string) => void;
  readonly edit: (row: number, column: number) => void;
  readonly save: (target: CellTarget, value: unknown) => void;
  readonly stop: () => void;
}

interface CellEditorProps extends CellTarget {
  readonly value: unknown;
  readonly actions: CellActions;
}

/** Whether a cell can be changed in place. Others are changed in the drawer. */
export function isSimple(path: string, value: unknown): boolean {
  return path !== 'id' && !path.startsWith('_meta') && ['string', 'number', 'boolean'].includes(typeof value);
}

export function CellEditor({ document, path, value, actions }: CellEditorProps) {
  const [text, setText] = useState(String(value));
  const isNumber = typeof value === 'number';
  const keep = () => {
    const changed = typeof value === 'string' ? text : isNumber ? Number(text) : text === 'true';
    if (isNumber && (text.trim() === '' || Number.isNaN(changed))) return;
    actions.stop();
    if (changed !== value) actions.save({ document, path }, changed);
  };
  const keys = (event: React.KeyboardEvent) => {
    event.stopPropagation();
    if (event.key === 'Enter') keep();
    if (event.key === 'Escape') actions.stop();
  };
  const shared = {
    className: classes.editor,
    'aria-label': `${path} of ${document.id}`,
    value: text,
    onKeyDown: keys,
    onBlur: keep,
    autoFocus: true,
  };
  if (typeof value === 'boolean') {
    return (
      <select {...shared} onChange={({ currentTarget }) => setText(currentTarget.value)}>
        <option>true</option>
        <option>false</option>
      </select>
    );
  }
  return (
    <input
      {...shared}
      inputMode={isNumber ? 'decimal' : 'text'}
      onChange={({ currentTarget }) => setText(currentTarget.value)}
    />
  );
}

/** The merge patch that sets a value at a path. */
export function patchOf({ path }: Pick<CellTarget, 'path'>, value: unknown): object {
  return stepsOf(path)
    .toReversed()
    .reduce<unknown>((inner, name) => ({ [name]: inner }), value) as object;
}
