/** A real nginx on loopback that forwards the paths below a prefix, with or without that prefix. */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Test } from 'tap';
import { until } from '../until.ts';

const NGINX = '/usr/sbin/nginx';

/** Why no nginx can run here, or undefined when it can. */
export function whyNoNginx(): string | undefined {
  return existsSync(NGINX) ? undefined : 'nginx is not installed (Debian: apt-get install nginx-light)';
}

/**
 * @param upstream authority of the server, such as `127.0.0.1:3000`
 * @param strips whether the prefix is removed from requests
 * @returns the origin of nginx
 */
export async function startNginx(
  t: Pick<Test, 'teardown'>,
  upstream: string,
  prefix: string,
  strips: boolean,
): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-nginx-'));
  const port = await freePort();
  await writeFile(
    join(folder, 'nginx.conf'),
    `daemon off; master_process off; pid ${folder}/pid; error_log stderr;
events {}
http {
  access_log off;
  ${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${folder}/${name};`).join(' ')}
  server {
    listen 127.0.0.1:${port};
    location ${prefix}/ {
      proxy_pass http://${upstream}${strips ? '/' : ''};
      proxy_http_version 1.1;
      proxy_set_header Host $http_host;
      proxy_set_header X-Forwarded-For $remote_addr;
      proxy_set_header X-Forwarded-Proto $scheme;
      proxy_set_header Upgrade $http_upgrade;
      proxy_set_header Connection $http_connection;
      client_max_body_size 0;
      proxy_request_buffering off;
    }
  }
}
`,
  );
  const child = spawn(NGINX, ['-p', folder, '-c', join(folder, 'nginx.conf')], { stdio: 'ignore' });
  const ended = new Promise((resolve) => child.once('exit', resolve));
  t.teardown(async () => {
    child.kill();
    await ended;
    await rm(folder, { recursive: true, force: true });
  });
  const origin = `http://127.0.0.1:${port}`;
  const responses = () =>
    fetch(origin).then(
      () => true,
      () => false,
    );
  await until(responses, 'nginx listens');
  return origin;
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === 'string') throw new Error('No port is free');
  return address.port;
}
