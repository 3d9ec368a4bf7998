/** The retry schedules, the breaker and the concurrency limit: the pure parts. */
import t from 'tap';
import { CircuitBreaker } from '../../../src/webhooks/sending/breaker.ts';
import { EndpointConcurrency } from '../../../src/webhooks/sending/endpoint-concurrency.ts';
import { retryAfterMs, retryDelayMs } from '../../../src/webhooks/sending/retry-schedule.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const NOW = Date.UTC(2026, 10, 23, 12);

t.test('the standard schedule, longer and shorter by a fifth', async (t) => {
  const pauses = [5 * SECOND, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR, 10 * HOUR];
  for (const [index, pause] of pauses.entries()) {
    t.equal(retryDelayMs('standard', index + 1, 0.5), pause);
    t.equal(retryDelayMs('standard', index + 1, 0), pause * 0.8);
    t.equal(retryDelayMs('standard', index + 1, 1), pause * 1.2);
  }
  t.equal(retryDelayMs('standard', 8, 0.5), null, 'the eighth try is the last one');
});

t.test('the long schedule has ten attempts over 75 hours, none has one attempt', async (t) => {
  const pauses = Array.from({ length: 9 }, (_, index) => retryDelayMs('long', index + 1, 0.5) ?? Number.NaN);
  const hours = pauses.reduce((sum, pause) => sum + pause, 0) / HOUR;
  t.ok(hours > 74 && hours < 76, `${hours} hours`);
  t.equal(retryDelayMs('long', 10, 0.5), null);
  t.equal(retryDelayMs('none', 1, 0.5), null);
});

t.test('Retry-After of 429 and 503 counts, in seconds or as a date, for a day at most', async (t) => {
  const cases: readonly (readonly [number, string | undefined, number | null])[] = [
    [429, '120', 2 * MINUTE],
    [503, ' 7 ', 7 * SECOND],
    [503, new Date(NOW + HOUR).toUTCString(), HOUR],
    [503, new Date(NOW - HOUR).toUTCString(), null],
    [429, '999999999', 24 * HOUR],
    [429, '9'.repeat(400), 24 * HOUR],
    [429, new Date(NOW + 48 * HOUR).toUTCString(), 24 * HOUR],
    [429, '0', null],
    [429, '-5', null],
    [429, 'soon', null],
    [429, '', null],
    [429, undefined, null],
    [500, '120', null],
    [301, '120', null],
  ];
  for (const [status, value, pause] of cases) t.equal(retryAfterMs(status, value, NOW), pause, `${status} ${value}`);
});

t.test('the breaker opens at ten failures in a row', async (t) => {
  const breaker = new CircuitBreaker();
  for (let n = 0; n < 9; n++) breaker.count(false, NOW);
  t.equal(breaker.state(NOW), 'closed');
  breaker.count(true, NOW);
  t.equal(breaker.state(NOW), 'closed');
  const other = new CircuitBreaker();
  for (let n = 0; n < 10; n++) other.count(false, NOW);
  t.equal(other.state(NOW), 'open');
  const busy = new CircuitBreaker();
  for (let n = 0; n < 100; n++) busy.count(true, NOW);
  for (let n = 0; n < 10; n++) busy.count(false, NOW);
  t.equal(busy.state(NOW), 'open', 'whatever was before');
  t.strictSame(other.open, { openUntil: NOW + 30 * SECOND, pauseMs: 30 * SECOND });
});

t.test('the breaker opens when 70 % of ten or more attempts failed within five minutes', async (t) => {
  const results = [false, false, true, false, false, true, false, false, true];
  const breaker = new CircuitBreaker();
  for (const [n, ok] of results.entries()) breaker.count(ok, NOW + n * 20 * SECOND);
  t.equal(breaker.state(NOW), 'closed', '6 of 9');
  breaker.count(false, NOW + 4 * MINUTE);
  t.equal(breaker.state(NOW + 4 * MINUTE), 'open', '7 of 10');
  const slow = new CircuitBreaker();
  for (const [n, ok] of results.entries()) slow.count(ok, NOW + n * MINUTE);
  slow.count(false, NOW + 10 * MINUTE);
  t.equal(slow.state(NOW + 10 * MINUTE), 'closed', 'the same within ten minutes');
});

t.test('the pause of the breaker doubles up to five minutes, and one success closes it', async (t) => {
  const breaker = new CircuitBreaker();
  for (let n = 0; n < 10; n++) breaker.count(false, NOW);
  let now = NOW;
  for (const pause of [30, 60, 120, 240, 300, 300]) {
    t.equal(breaker.open?.pauseMs, pause * SECOND);
    t.equal(breaker.state(now + pause * SECOND - 1), 'open');
    now += pause * SECOND;
    t.equal(breaker.state(now), 'half-open');
    breaker.count(true, now);
    t.equal(breaker.state(now), 'half-open', 'a late response is no probe');
    breaker.recordProbe(false, now);
  }
  breaker.recordProbe(true, now);
  t.equal(breaker.state(now), 'closed');
  for (let n = 0; n < 9; n++) breaker.count(false, now);
  t.equal(breaker.state(now), 'closed', 'what was before is forgotten');
});

function one(endpoint: string, notBefore = 0, size = 1): { endpoint: string; notBefore: number; size: number } {
  return { endpoint, notBefore, size };
}

function begin(slots: EndpointConcurrency<ReturnType<typeof one>>, now = 0): string {
  const begun: string[] = [];
  for (let next = slots.next(now); next !== undefined; next = slots.next(now)) begun.push(next.endpoint);
  return begun.join('');
}

t.test('endpoints are served in turn, each with one request at first', async (t) => {
  const slots = new EndpointConcurrency<ReturnType<typeof one>>({ own: 2, shared: 10 });
  for (const endpoint of ['a', 'a', 'a', 'b', 'a', 'c']) slots.push(one(endpoint));
  t.equal(begin(slots), 'abc');
  t.equal(slots.underWay, 3);
  slots.end(one('a'), true);
  t.equal(begin(slots), 'aa', 'one more after a success');
});

t.test('the number of all concurrent requests is limited', async (t) => {
  const slots = new EndpointConcurrency<ReturnType<typeof one>>({ own: 0, shared: 3 });
  for (const endpoint of ['a', 'a', 'b', 'b', 'c', 'd']) slots.push(one(endpoint));
  t.equal(begin(slots), 'abc');
  slots.end(one('c'), true);
  t.equal(begin(slots), 'd');
});

t.test('the first request of an endpoint waits for no request of another', async (t) => {
  const slots = new EndpointConcurrency<ReturnType<typeof one>>({ own: 500, shared: 10 });
  const names = Array.from({ length: 500 }, (_, n) => `${n} `);
  const fill = () => {
    for (const name of names.slice(1)) while (slots.room(name) > 0) slots.push(one(name));
    return begin(slots);
  };
  fill();
  t.equal(slots.underWay, 499);
  for (const name of names.slice(1)) slots.end(one(name), true);
  fill();
  t.ok(slots.underWay > 499, 'after a success they get more');
  t.ok(slots.underWay <= 509, `${slots.underWay} calls`);
  slots.push(one('0 '));
  t.equal(begin(slots), '0 ');
});

t.test('no endpoint takes all shared slots', async (t) => {
  const slots = new EndpointConcurrency<ReturnType<typeof one>>({ own: 1, shared: 6 });
  const succeed = (endpoint: string) => {
    for (let n = 0; n < 9; n++) {
      slots.push(one(endpoint));
      begin(slots);
      slots.end(one(endpoint), true);
    }
    while (slots.room(endpoint) > 0) slots.push(one(endpoint));
  };
  succeed('a');
  t.equal(begin(slots), 'aaaa');
  succeed('b');
  t.equal(begin(slots), 'bb');
});

t.test('a success allows one more request up to ten, a failure halves them down to one', async (t) => {
  const slots = new EndpointConcurrency<ReturnType<typeof one>>({ own: 1, shared: 100 });
  const fill = () => {
    while (slots.room('a') > 0) slots.push(one('a'));
    return begin(slots).length;
  };
  t.equal(fill(), 1);
  for (let n = 0; n < 20; n++) {
    slots.end(one('a'), true);
    fill();
  }
  t.equal(slots.underWay, 10);
  for (const limit of [5, 2, 1, 1]) {
    slots.end(one('a'), false);
    while (slots.underWay > 0) slots.end(one('a'), false);
    t.ok(fill() <= limit);
  }
  t.equal(slots.underWay, 1);
});

t.test('queued deliveries are limited in count and in bytes', async (t) => {
  const slots = new EndpointConcurrency<ReturnType<typeof one>>({ own: 10, shared: 10 });
  t.equal(slots.room('a'), 4);
  for (let n = 0; n < 4; n++) slots.push(one('a'));
  t.strictSame(
    [slots.room('a'), slots.room('b'), slots.isRunningLow('a'), slots.isRunningLow('b')],
    [0, 4, false, true],
  );
  begin(slots);
  slots.end(one('a'), true);
  t.equal(slots.room('a'), 6, 'after a success more may wait');
  while (slots.room('a') > 0) slots.push(one('a'));
  t.equal(slots.room('b'), 4);
  const large = new EndpointConcurrency<ReturnType<typeof one>>({ own: 10, shared: 10 });
  large.push(one('a', 0, 32 * 1_024 * 1_024));
  t.strictSame([large.room('a'), large.room('b')], [0, 1], 'one at a time');
  t.equal(large.withdraw(({ endpoint }) => endpoint === 'a').length, 1);
  t.equal(large.room('b'), 4);
});

t.test('a delivery waits for its time, and others overtake it', async (t) => {
  const slots = new EndpointConcurrency<ReturnType<typeof one>>({ own: 10, shared: 10 });
  slots.push(one('a', 100));
  slots.push(one('b'));
  t.equal(begin(slots), 'b');
  t.equal(slots.nextTime(), 100);
  t.equal(begin(slots, 100), 'a');
  t.equal(slots.nextTime(), null);
});
