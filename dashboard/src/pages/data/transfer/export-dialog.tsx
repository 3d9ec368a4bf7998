/** Export of the current list, page by page into a file. */
import { Button, Group, Modal, NativeSelect, Progress, Stack, Text } from '@mantine/core';
import { useRef, useState } from 'react';
import { request } from '../../../api/client.ts';
import { Failure } from '../../../parts/failure.tsx';
import { numberText } from '../../../parts/numbers.ts';
import type { GridDocument } from '../grid/document-pages.ts';
import { type DataSearch, listPath } from '../parts/search.ts';
import { type FileFormat, FORMATS } from './read-file.ts';

interface ExportDialogProps {
  readonly collection: string;
  readonly search: DataSearch;
  readonly onClose: () => void;
}

const PAGE = 1_000;
const TYPES = { json: 'application/json', ndjson: 'application/x-ndjson', csv: 'text/csv' };

export function ExportDialog({ collection, search, onClose }: ExportDialogProps) {
  const [format, setFormat] = useState<FileFormat>('ndjson');
  const [total, setTotal] = useState<number | null>(null);
  const [done, setDone] = useState<number | null>(null);
  const [error, setError] = useState<unknown>(null);
  const isStopped = useRef(false);
  const start = async () => {
    setError(null);
    setDone(0);
    isStopped.current = false;
    try {
      const path = listPath(collection, search);
      const { headers } = await request('GET', `${path}&limit=0&count=exact`, { as: search.as });
      setTotal(Number(headers.get('millrace-count')));
      const documents = await readAll(path, search.as, () => isStopped.current, setDone);
      if (isStopped.current) return;
      save(`${collection}.${format}`, await toFile(documents, format));
      onClose();
    } catch (problem) {
      setError(problem);
      setDone(null);
    }
  };
  const close = () => {
    isStopped.current = true;
    onClose();
  };
  return (
    <Modal opened onClose={close} title={`Export from ${collection}`}>
      <Stack>
        <Text size="sm">
          All documents
          {search.q === undefined ? '' : ' that match the filter'}, in the order of the grid
          {search.columns === undefined ? ', with all fields.' : ', with the chosen columns.'}
        </Text>
        <NativeSelect
          label="Format"
          data={[
            { value: 'ndjson', label: 'NDJSON, one document per line' },
            { value: 'json', label: 'JSON array' },
            { value: 'csv', label: 'CSV, for spreadsheets' },
          ]}
          value={format}
          disabled={done !== null}
          onChange={({ currentTarget }) => setFormat(FORMATS.find((one) => one === currentTarget.value) ?? 'json')}
        />
        {done === null ? null : (
          <>
            <Progress value={(100 * done) / Math.max(total ?? done, 1)} aria-label="Documents read" />
            <Text size="sm" role="status">
              {numberText(done)} of {total === null ? '…' : numberText(total)} documents read
            </Text>
          </>
        )}
        {error === null ? null : <Failure error={error} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={close}>
            Cancel
          </Button>
          <Button loading={done !== null} onClick={() => void start()}>
            Export
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}

async function readAll(
  path: string,
  as: string | undefined,
  isStopped: () => boolean,
  onRead: (count: number) => void,
): Promise<readonly GridDocument[]> {
  const pages: (readonly GridDocument[])[] = [];
  let count = 0;
  let cursor: string | null = null;
  do {
    const after: string = cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`;
    const { body, headers } = await request<readonly GridDocument[]>('GET', `${path}&limit=${PAGE}${after}`, { as });
    pages.push(body);
    count += body.length;
    onRead(count);
    cursor = headers.get('millrace-next');
  } while (cursor !== null && !isStopped());
  return pages.flat();
}

/** Files can be imported again, so fields that the server adds are left out. */
async function toFile(documents: readonly GridDocument[], format: FileFormat): Promise<Blob> {
  const plain = documents.map(({ _meta, ...document }): Readonly<Record<string, unknown>> => document);
  const type = TYPES[format];
  if (format === 'ndjson')
    return new Blob(
      plain.map((document) => `${JSON.stringify(document)}\n`),
      { type },
    );
  if (format === 'json') {
    const rows = plain.map((document, at) => `${at === 0 ? '' : ',\n'}${JSON.stringify(document)}`);
    return new Blob(['[', ...rows, ']\n'], { type });
  }
  const { default: Papa } = await import('papaparse');
  const fields = [...new Set(plain.flatMap((document) => Object.keys(document)))];
  const data = plain.map((document) => fields.map((name) => toCell(document[name])));
  // A spreadsheet would run a text that starts like a formula.
  return new Blob([Papa.unparse({ fields, data }, { escapeFormulae: true })], { type });
}

function toCell(value: unknown): unknown {
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : value;
}

function save(name: string, blob: Blob): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
