/** The headers of answers that belong to one reader: kept by nobody else, asked for again each time. */
import fp from 'fastify-plugin';

const HEADERS = Object.freeze({
  'cache-control': 'private, no-cache',
  vary: 'Authorization, Accept, Origin',
});

/** For contexts that answer with what policies let this reader see. */
export const privateAnswers = fp(
  async (app) => {
    app.addHook('onRequest', (_request, reply, done) => {
      reply.headers(HEADERS);
      done();
    });
  },
  { name: 'own-answers' },
);
