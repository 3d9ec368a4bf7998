/** A collection of three books, and the hint of a list of it. */
import type { Test } from 'tap';
import { buildTestApp } from './app.ts';

const BOOKS = [
  { id: 'a', title: 'Dune', year: 1965, seq: 3, author: { name: 'Herbert' }, tags: [{ label: 'sf' }] },
  { id: 'b', title: 'Emma', year: 1815, seq: 1, author: { name: 'Austen' }, tags: [] },
  { id: 'c', title: 'Ubik', year: null, seq: 2, author: { name: 'Dick' }, tags: [{ label: 'sf' }] },
];

export async function withBooks(t: Test) {
  const test = await buildTestApp(t);
  const { app } = test;
  t.equal((await app.inject({ method: 'POST', url: '/api/books', payload: BOOKS })).statusCode, 201);
  const hint = async (query: string, headers: Record<string, string> = {}) => {
    const response = await app.inject({ url: `/api/books?${query}`, headers });
    t.equal(response.statusCode, 200, query);
    const reported = response.headers['millrace-hint'];
    return { reported: reported === undefined ? null : String(reported), shown: response.json<{ id: string }[]>() };
  };
  return { ...test, hint };
}
