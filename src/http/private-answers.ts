/**
 * The headers of answers that are for one reader only: no shared cache keeps them, and each use asks the server again.
 */
import fp from 'fastify-plugin';

const HEADERS = Object.freeze({
  'cache-control': 'private, no-cache',
  vary: 'Authorization, Accept, Origin, Millrace-As',
});

/** For contexts whose answers depend on the policies of the reader. */
export const privateAnswers = fp(
  async (app) => {
    app.addHook('onRequest', (_request, reply, done) => {
      reply.headers(HEADERS);
      done();
    });
  },
  { name: 'own-answers' },
);
