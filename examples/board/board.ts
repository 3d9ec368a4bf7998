/**
 * The departures of one airport on a page: the next flights that have not left, in the order they leave. Everything that moves on
 * it comes from one live query; `npm run board` fills it and simulates the day.
 */
import { createClient, type Doc, type LiveState } from '../../client/client.ts';

interface Flight {
  readonly airport: string;
  /** Hours since midnight. */
  readonly time: number;
  /** Minutes. */
  readonly delay: number;
  /** Miles. */
  readonly distance: number;
  readonly status: 'scheduled' | 'boarding' | 'departed';
}

/** The browser APIs used here: it is compiled without the browser's own types. */
interface Place {
  textContent: string | null;
  className: string;
  value: string;
  replaceChildren(...children: readonly Place[]): void;
  append(...children: readonly Place[]): void;
  addEventListener(type: string, listener: () => void): void;
}

interface Page {
  getElementById(id: string): Place;
  createElement(name: string): Place;
}

declare const document: Page;
declare const location: { readonly href: string };

const AIRPORTS = ['ATL', 'BOS', 'DEN', 'DFW', 'JFK', 'LAX', 'MIA', 'ORD', 'SEA', 'SFO'];
const ROWS = 12;

const flights = createClient(new URL('../..', location.href).href).collection<Flight>('departures');
const airport = document.getElementById('airport');
let stop = () => {};

airport.replaceChildren(...AIRPORTS.map((name) => element('option', name)));
airport.addEventListener('change', follow);
follow();

function follow(): void {
  stop();
  const filter = { airport: airport.value || AIRPORTS[0], status: { $ne: 'departed' } };
  stop = flights.live({ filter, sort: 'time', limit: ROWS }, draw);
}

function draw({ status, documents, problem }: LiveState<Doc<Flight>>): void {
  const sign = document.getElementById('status');
  sign.textContent = status;
  sign.className = status;
  const empty =
    status === 'live' && documents.length === 0
      ? 'No flights yet. In a clone of the repository, npm run board fills the board.'
      : '';
  document.getElementById('hint').textContent = problem?.message ?? empty;
  document.getElementById('flights').replaceChildren(...documents.map(row));
}

function row({ id, time, delay, distance, status }: Doc<Flight>): Place {
  const late = delay > 0 ? `${status}, ${delay} min late` : status;
  const line = element('tr', '', status);
  line.append(...[clock(time), id, `${distance} mi`, late].map((text) => element('td', text)));
  return line;
}

function clock(hours: number): string {
  const minutes = Math.round(hours * 60);
  return `${String(Math.floor(minutes / 60)).padStart(2, '0')}:${String(minutes % 60).padStart(2, '0')}`;
}

function element(name: string, text: string, className = ''): Place {
  const created = document.createElement(name);
  created.textContent = text;
  created.className = className;
  return created;
}
