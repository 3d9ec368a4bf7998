/** A server in production mode with 3,201 real films, and its administrator at the dashboard in Chromium. */
import type { FastifyInstance } from 'fastify';
import type { Browser } from 'playwright-core';
import type { Test } from 'tap';
import { bodies, type Field, SEED_SETS } from '../../../scripts/seed-sets.ts';
import type { Services } from '../../../src/services.ts';
import { buildTestApp } from '../app.ts';
import { testBrowser } from '../programs/browser.ts';
import { type Account, signInAdmin } from '../users.ts';
import { type DashboardPage, dashboardPage } from './dashboard-page.ts';

interface FilmDesk extends DashboardPage {
  readonly app: FastifyInstance;
  readonly services: Services;
  readonly origin: string;
  readonly browser: Browser;
  readonly owner: Account;
  /** As stored in `movies`, with the ids `film-0000` to `film-3200`. */
  readonly films: readonly Field[];
  /** Creates documents. */
  fill(collection: string, documents: Iterable<unknown>): Promise<void>;
}

/** At `/data`, signed in. */
export async function filmDesk(t: Test): Promise<FilmDesk> {
  const { app, services } = await buildTestApp(t, {
    MILLRACE_MODE: 'production',
    MILLRACE_RATE_LIMIT_PRINCIPAL: '100000',
  });
  const origin = await app.listen({ host: '127.0.0.1', port: 0 });
  const owner = await signInAdmin(app, services);
  const fill = async (collection: string, documents: Iterable<unknown>) => {
    for (const { text } of bodies(documents)) {
      const headers = { ...owner.headers, 'content-type': 'application/json', prefer: 'return=minimal' };
      const { statusCode } = await app.inject({ method: 'POST', url: `/api/${collection}`, headers, payload: text });
      t.equal(statusCode, 201);
    }
  };
  const read = (await SEED_SETS.find(({ name }) => name === 'movies')?.read()) ?? [];
  const films = read.map((film, at) => ({ id: `film-${String(at).padStart(4, '0')}`, ...film }));
  await fill('movies', films);
  const browser = await testBrowser(t);
  const desk = await dashboardPage(t, browser, origin);
  await desk.enter('/data', 'owner@example.org');
  return { ...desk, app, services, origin, browser, owner, films, fill };
}
