/**
 * The thread that records: it has a client of its own and the recorder, and tells the process by messages.
 * Recording takes as much of a thread as answering the writes that it follows; here neither waits for the other.
 * Not here: the process's side of it (recorder-thread.ts).
 */
import { parentPort, workerData } from 'node:worker_threads';
import { Lease } from '../database/lease.ts';
import { connectMongo, type MongoSettings } from '../database/mongo.ts';
import { EventLog } from './event-log.ts';
import type { Note } from './note.ts';
import type { Place } from './position.ts';
import { Recorder, type RecorderState } from './recorder.ts';
import { tellRefusal } from './refusal.ts';
import { HandOver, type RowParcel } from './row-parcel.ts';

/** What the thread is started with. */
export interface RecorderWork {
  readonly settings: MongoSettings;
  /** Who asks for the lease. */
  readonly owner: string;
}

/** What the thread says. */
export type FromRecorder =
  | { readonly kind: 'rows'; readonly parcel: RowParcel }
  | { readonly kind: 'recording'; readonly recording: boolean }
  | { readonly kind: 'state'; readonly state: RecorderState }
  | { readonly kind: 'note'; readonly note: Parameters<Note> }
  /** Asks for the highest position the process knows of. */
  | { readonly kind: 'known?' }
  /** The lease is given back and the thread may end. */
  | { readonly kind: 'stopped' };

/** What the thread is told. */
export type ToRecorder =
  | { readonly kind: 'known'; readonly place: Place | null }
  /** So many more bytes have been taken in. */
  | { readonly kind: 'taken'; readonly bytes: number }
  | { readonly kind: 'stop' };

/** Connections at most: the stream, an append, the lease, and what a turn of events asks for. */
const POOL = 8;

const port = parentPort;
if (port === null) throw new Error('This runs in a thread of its own');

const { settings, owner }: RecorderWork = workerData;
const { client, data, log: logDb } = connectMongo({ ...settings, maxPoolSize: POOL });
const log = new EventLog(logDb, settings.database);
const lease = new Lease({ collection: logDb.collection('lease'), id: 'log', owner });

const say = (message: FromRecorder, transfer: ArrayBuffer[] = []): void => port.postMessage(message, transfer);
const onNote: Note = (...note) => say({ kind: 'note', note });

const over = new HandOver({
  send: (parcel) => say({ kind: 'rows', parcel }, [parcel.bodies.buffer]),
  // Said again, it makes the process look at what it missed. Where recording ended meanwhile it looks by itself.
  again: () => told?.status === 'recording' && say({ kind: 'recording', recording: true }),
});

let told: Pick<RecorderState, 'status' | 'fault'> | null = null;

function tell(state: RecorderState): void {
  if (state.status === told?.status && state.fault === told.fault) return;
  told = state;
  say({ kind: 'state', state });
}

let answer: (place: Place | null) => void = () => {};

const recorder = new Recorder({
  data,
  log,
  lease,
  onNote,
  onRows: (rows) => over.hand(rows),
  onRecording: (recording) => say({ kind: 'recording', recording }),
  onState: tell,
  onRefused: (error) => {
    tellRefusal(data, owner, error).catch((fault: unknown) => {
      onNote('warn', 'That recording is refused could not be written down', { fault: String(fault) });
    });
  },
  known: () => {
    const known = new Promise<Place | null>((resolve) => {
      answer = resolve;
    });
    say({ kind: 'known?' });
    return known;
  },
});

async function stop(): Promise<void> {
  await recorder.stop();
  await client.close();
  say({ kind: 'stopped' });
}

port.on('message', (message: ToRecorder) => {
  if (message.kind === 'known') answer(message.place);
  else if (message.kind === 'taken') over.taken(message.bytes);
  else void stop();
});
recorder.start();
