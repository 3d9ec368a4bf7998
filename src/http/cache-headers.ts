/** Headers of responses for one reader only: no shared cache stores them, and each use is revalidated. */
import fp from 'fastify-plugin';

const HEADERS = Object.freeze({
  'cache-control': 'private, no-cache',
  vary: 'Authorization, Accept, Origin, Millrace-As',
});

/** For contexts whose responses depend on the policies of the reader. */
export const cacheHeaders = fp(
  async (app) => {
    app.addHook('onRequest', (_request, reply, done) => {
      reply.headers(HEADERS);
      done();
    });
  },
  { name: 'own-answers' },
);
