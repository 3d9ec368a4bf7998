/** Documents from a file: a JSON array, NDJSON, or CSV whose columns become fields. */
import Papa from 'papaparse';

export const FORMATS = ['json', 'ndjson', 'csv'] as const;
export type FileFormat = (typeof FORMATS)[number];

export type ColumnType = 'detect' | 'text' | 'number' | 'boolean' | 'json' | 'skip';
export const COLUMN_TYPES: readonly ColumnType[] = ['detect', 'text', 'number', 'boolean', 'json', 'skip'];

/** How a column of a CSV file becomes a field. */
export interface ColumnPlan {
  readonly column: string;
  readonly field: string;
  readonly type: ColumnType;
}

/** The content of a file before it is sent. */
export interface FileContent {
  readonly format: FileFormat;
  readonly rows: readonly Readonly<Record<string, unknown>>[];
  /** Only for CSV. */
  readonly columns: readonly string[];
}

/** The format by the name of the file, else by its first character. */
export function formatOf(name: string, text: string): FileFormat {
  if (/\.(?:ndjson|jsonl)$/i.test(name)) return 'ndjson';
  if (/\.(?:csv|tsv)$/i.test(name)) return 'csv';
  if (/\.json$/i.test(name) || text.trimStart().startsWith('[')) return 'json';
  return text.trimStart().startsWith('{') ? 'ndjson' : 'csv';
}

/** @throws Error what is wrong with the file, with its line */
export function readContent(text: string, format: FileFormat): FileContent {
  if (format === 'csv') {
    const { data, errors, meta } = Papa.parse<Record<string, string>>(text, { header: true, skipEmptyLines: 'greedy' });
    const [issue] = errors.filter(({ code }) => code !== 'UndetectableDelimiter');
    if (issue !== undefined) throw new Error(`Line ${(issue.row ?? 0) + 2}: ${issue.message}`);
    return { format, rows: data, columns: meta.fields ?? [] };
  }
  const values: unknown = format === 'json' ? JSON.parse(text) : linesOf(text);
  if (!Array.isArray(values)) throw new Error('The file does not contain a JSON array');
  const wrong = values.findIndex((value) => typeof value !== 'object' || value === null || Array.isArray(value));
  if (wrong !== -1) throw new Error(`Element ${wrong + 1} is not an object`);
  return { format, rows: values as readonly Record<string, unknown>[], columns: [] };
}

function linesOf(text: string): unknown[] {
  return text.split(/\r?\n/).flatMap((line, at) => {
    if (line.trim() === '') return [];
    try {
      return [JSON.parse(line) as unknown];
    } catch (error) {
      throw new Error(`Line ${at + 1}: ${error instanceof Error ? error.message : String(error)}`);
    }
  });
}

export function firstPlan(columns: readonly string[]): readonly ColumnPlan[] {
  return columns.map((column) => ({ column, field: column, type: column === 'id' ? 'text' : 'detect' }));
}

/** A row of CSV as a document. An empty cell is left out. */
export function toDocument(row: Readonly<Record<string, unknown>>, plan: readonly ColumnPlan[]): object {
  return Object.fromEntries(
    plan.flatMap(({ column, field, type }) => {
      const text = row[column];
      if (type === 'skip' || typeof text !== 'string' || text === '') return [];
      return [[field, toValue(text, type)]];
    }),
  );
}

/** @throws Error a text that is not of the type */
function toValue(text: string, type: ColumnType): unknown {
  switch (type) {
    case 'number':
      if (!isNumber(text)) throw new Error(`"${text}" is not a number`);
      return Number(text);
    case 'boolean':
      if (!/^(?:true|false|1|0|yes|no)$/i.test(text)) throw new Error(`"${text}" is not true or false`);
      return /^(?:true|1|yes)$/i.test(text);
    case 'json':
      return JSON.parse(text) as unknown;
    case 'text':
      return text;
    default:
      if (text === 'true' || text === 'false') return text === 'true';
      return isNumber(text) ? Number(text) : text;
  }
}

/** Only numbers that keep their digits: `007` and long numbers stay texts. */
function isNumber(text: string): boolean {
  return text.trim() !== '' && String(Number(text)) === text.trim();
}
