/** A value in a cell: short, and always as text. */
import { Link } from '@tanstack/react-router';
import { typeLabel } from '../parts/columns.ts';
import classes from './grid.module.css';

/** More does not fit into a cell. */
const MAX_TEXT = 160;

/** @param reference the collection whose document the value references */
export function CellValue({
  value,
  type,
  reference,
}: {
  readonly value: unknown;
  readonly type: string;
  readonly reference: string | null;
}) {
  if (value === undefined) return null;
  if (value === null) return <span className={classes.quiet}>null</span>;
  if (typeof value === 'object') return <span className={classes.code}>{brief(value)}</span>;
  if (typeof value === 'string') {
    if (reference !== null && value !== '') {
      return (
        <Link
          className={classes.reference}
          to="/data/$collection"
          params={{ collection: reference }}
          search={{ doc: value }}
          tabIndex={-1}
        >
          {value}
        </Link>
      );
    }
    if (typeLabel(type) === 'date') return <time title={value}>{momentOf(value)}</time>;
    return value.length > MAX_TEXT ? `${value.slice(0, MAX_TEXT)}…` : value;
  }
  return String(value);
}

/** JSON that fits; of a long array or object only the start is written. */
function brief(value: object): string {
  const first = Array.isArray(value) ? value.slice(0, 12) : Object.fromEntries(Object.entries(value).slice(0, 12));
  const text = JSON.stringify(first);
  return text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text;
}

/** The date alone when the text has no time; local time otherwise. The exact text is its title. */
function momentOf(text: string): string {
  const moment = new Date(text);
  if (!/\dT\d/.test(text) || Number.isNaN(moment.getTime())) return text;
  return FORMAT.format(moment).replace(',', '');
}

const FORMAT = new Intl.DateTimeFormat('sv-SE', { dateStyle: 'short', timeStyle: 'short' });
