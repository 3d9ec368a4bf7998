/** One log line a request, written when its answer has been sent. Queries and bodies stay out: they may hold secrets. */
import fp from 'fastify-plugin';

/** Replaces Fastify's own two lines a request. */
export const requestLog = fp(
  async (app) => {
    app.addHook('onResponse', (request, reply, done) => {
      app.log.info(
        {
          request: request.id,
          method: request.method,
          path: request.url.split('?', 1)[0],
          status: reply.statusCode,
          ms: Math.round(reply.elapsedTime * 10) / 10,
        },
        'request',
      );
      done();
    });
  },
  { name: 'request-log' },
);
