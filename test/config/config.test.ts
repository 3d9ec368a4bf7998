/** The settings: defaults, all errors at once, and what the modes forbid. */
import t from 'tap';
import { ConfigError, loadConfig } from '../../src/config/config.ts';

t.test('no setting is required', async (t) => {
  t.match(loadConfig({}), {
    mode: 'development',
    folder: '.millrace',
    database: { url: undefined, name: 'millrace' },
    server: { host: '127.0.0.1', port: 3000, bodyBytes: 1_048_576 },
  });
  t.strictSame(loadConfig({}).events, { maxAgeMs: 72 * 3_600_000, maxBytes: 10 * 1024 ** 3 });
  t.strictSame(loadConfig({}).server.rate, { anonymous: null, principal: null });
});

t.test('an empty variable counts as not set', async (t) => {
  t.equal(loadConfig({ PORT: '', MONGODB_URL: '' }).server.port, 3000);
});

t.test('all errors are reported together, each with its variable', async (t) => {
  const issues = issuesOf({
    PORT: '70000',
    MILLRACE_MODE: 'staging',
    MONGODB_URL: 'localhost',
    MILLRACE_MAX_BODY_BYTES: 'x',
  });
  t.equal(issues.length, 4);
  t.match(issues.join('\n'), /PORT=70000: must be <= 65535/);
  t.match(issues.join('\n'), /MILLRACE_MODE=staging: must be one of development, production/);
  t.match(issues.join('\n'), /MONGODB_URL=/);
  t.match(issues.join('\n'), /MILLRACE_MAX_BODY_BYTES=x/);
});

t.test('a secret in an invalid connection string is not shown', async (t) => {
  t.notMatch(issuesOf({ MONGODB_URL: 'mongo://root:hunter2@db' }).join('\n'), /hunter2/);
});

t.test('development mode listens on loopback only', async (t) => {
  for (const HOST of ['127.0.0.1', '127.1.2.3', '::1', 'localhost']) t.equal(loadConfig({ HOST }).server.host, HOST);
  for (const HOST of ['0.0.0.0', '::', '192.168.1.7', 'example.org', '127.0.0.1.example.org']) {
    t.match(issuesOf({ HOST })[0], /listens on loopback only/, HOST);
    t.equal(loadConfig({ HOST, MILLRACE_MODE: 'production' }).server.host, HOST);
  }
});

t.test('production has rate limits by default', async (t) => {
  const production = { MILLRACE_MODE: 'production' };
  t.strictSame(loadConfig(production).server.rate, { anonymous: 600, principal: 6000 });
  t.equal(loadConfig({ ...production, MILLRACE_RATE_LIMIT_ANONYMOUS: '5' }).server.rate.anonymous, 5);
});

t.test('lists and proxies are parsed', async (t) => {
  const { server } = loadConfig({
    MILLRACE_CORS_ORIGINS: 'https://a.example, https://b.example',
    MILLRACE_TRUST_PROXY: '2',
  });
  t.strictSame(server.corsOrigins, ['https://a.example', 'https://b.example']);
  t.equal(server.trustProxy, 2);
  t.strictSame(loadConfig({ MILLRACE_TRUST_PROXY: '10.0.0.1,10.0.0.2' }).server.trustProxy, ['10.0.0.1', '10.0.0.2']);
});

t.test('a trailing slash is no part of a server URL', async (t) => {
  const { server, auth } = loadConfig({
    MILLRACE_PUBLIC_URL: 'https://api.example.org/',
    MILLRACE_CORS_ORIGINS: 'https://a.example/,https://b.example',
  });
  t.equal(server.publicUrl, 'https://api.example.org');
  t.equal(auth.base, 'https://api.example.org');
  t.strictSame(server.corsOrigins, ['https://a.example', 'https://b.example']);
});

t.test('invalid URLs and IP addresses are errors, each in a sentence', async (t) => {
  const server = /^MILLRACE_PUBLIC_URL=…: must be the URL of a server/;
  for (const url of ['http://:80', 'api.example.org', 'https://a.example?b', 'https://a.example//', 'http://u:p@a'])
    t.match(issuesOf({ MILLRACE_PUBLIC_URL: url }), [server], url);
  for (const proxies of ['yes', 'true', '-1', '10.0.0.1,nginx', '10.0.0.0/33', '::1/129', '10.0.0.0/'])
    t.match(
      issuesOf({ MILLRACE_TRUST_PROXY: proxies }),
      [/^MILLRACE_TRUST_PROXY=.*: must be a number of hops/],
      proxies,
    );
  for (const proxies of ['loopback, 10.0.0.0/8', '::1', 'fd00::/8', '0'])
    t.ok(loadConfig({ MILLRACE_TRUST_PROXY: proxies }), proxies);
  for (const name of ['admin', 'local', 'config', 'Admin', '1', 'a.b'])
    t.match(issuesOf({ MILLRACE_DB: name }), [/^MILLRACE_DB=.*: must be a letter .* not admin, local or config/], name);
  for (const name of ['administration', 'my-config']) t.equal(loadConfig({ MILLRACE_DB: name }).database.name, name);
  for (const name of ['local', 'a.b']) {
    const [issue] = issuesOf({ MONGODB_URL: `mongodb://host/${name}` });
    t.match(issue, `MONGODB_URL contains the database '${name}': its name must be a letter`, name);
  }
  for (const HOST of ['256.1.1.1', 'a b', 'http://a.example', '127.0.0.1:3000']) {
    t.match(issuesOf({ HOST, MILLRACE_MODE: 'production' }), [/^HOST=.*: must be an IP address or a host name/], HOST);
  }
  for (const HOST of ['0.0.0.0', '::', 'fe80::1%eth0', 'example.org']) {
    t.ok(loadConfig({ HOST, MILLRACE_MODE: 'production' }), HOST);
  }
  for (const origins of [
    '*',
    'a.example',
    'https://*.a.example',
    'https://A.example',
    'https://a.example:443',
    'null',
    'javascript://app',
    'data://app',
    'file://app',
    'blob://app',
    'ws://app.example',
    'Capacitor://localhost',
    'app://x/y',
  ]) {
    const given = `https://b.example,${origins}`;
    t.match(
      issuesOf({ MILLRACE_CORS_ORIGINS: given }),
      [/^MILLRACE_CORS_ORIGINS=.*: must be comma-separated origins/],
      origins,
    );
  }
  for (const origins of [
    'https://a.example/',
    'http://[::1]:8080, capacitor://localhost',
    'https://a.example,',
    APP_ORIGINS,
  ]) {
    t.ok(loadConfig({ MILLRACE_CORS_ORIGINS: origins }), origins);
  }
  t.match(issuesOf({ MONGODB_URL: 'x' }), [/must begin with mongodb:/]);
  t.match(issuesOf({ MILLRACE_EMAIL_FROM: 'x' }), [/must be an e-mail address$/]);
});

const APP_ORIGINS =
  'ionic://localhost,tauri://localhost/,app://.,app://-,app://bundle,chrome-extension://abc,com.example.app://x';

function issuesOf(env: Record<string, string>): readonly string[] {
  try {
    loadConfig(env);
  } catch (error) {
    if (error instanceof ConfigError) return error.issues;
  }
  throw new Error('The configuration was accepted');
}

t.test('a time beyond the range of timers is an error: it would fire at once', async (t) => {
  for (const name of ['BODY', 'KEEP_ALIVE', 'SHUTDOWN', 'QUERY', 'UNLIMITED_LIST'].map(
    (one) => `MILLRACE_${one}_TIMEOUT_MS`,
  )) {
    t.match(issuesOf({ [name]: '2147483648' }), [new RegExp(`^${name}=2147483648: must be <= 2147483647`)]);
    t.ok(loadConfig({ [name]: '2147483647' }));
  }
  t.match(issuesOf({ MILLRACE_HEARTBEAT_MS: '2147483648' }), [/<= 2147483647/]);
  t.match(issuesOf({ MILLRACE_HEADER_TIMEOUT_MS: '300001' }), [/<= 300000/], 'Node waits no longer for a request');
  t.ok(loadConfig({ MILLRACE_EVENT_RETENTION_MS: String(100 * 86_400_000) }), 'an age is no timer');
});

t.test('an unreadable URL of a mail server is an error that does not show its password', async (t) => {
  for (const url of ['smtp://[bad', 'smtp://ann:sec/ret@mail.example.org', 'smtp://mail.example.org:99999', 'smtps://'])
    t.match(issuesOf({ MILLRACE_SMTP_URL: url }), [/^MILLRACE_SMTP_URL=…: must be/], url);
  for (const url of [
    'smtp://127.0.0.1:25',
    'smtps://ann:s%2Fcret@mail.example.org',
    'smtp://ann@example.org:p@a.example',
  ])
    t.ok(loadConfig({ MILLRACE_SMTP_URL: url }), url);
});

t.test('the database is that of MILLRACE_DB, or the one in MONGODB_URL', async (t) => {
  const nameOf = (env: Record<string, string>) => loadConfig(env).database.name;
  t.equal(nameOf({}), 'millrace');
  t.equal(nameOf({ MONGODB_URL: 'mongodb://ann:pw@a:1,b:2/shop?replicaSet=rs0' }), 'shop');
  t.equal(nameOf({ MONGODB_URL: 'mongodb+srv://cluster.example.org/shop' }), 'shop');
  t.equal(nameOf({ MONGODB_URL: 'mongodb://a/shop', MILLRACE_DB: 'other' }), 'other');
  t.equal(nameOf({ MONGODB_URL: 'mongodb://a/?replicaSet=rs0' }), 'millrace');
  t.equal(nameOf({ MONGODB_URL: 'mongodb://a' }), 'millrace');
  t.equal(nameOf({ MONGODB_URL: 'mongodb://ann:pw@a/admin' }), 'millrace', 'where the users of MongoDB are');
});

t.test('networks that may be called are IP addresses or networks', async (t) => {
  const { egress } = loadConfig({ MILLRACE_EGRESS_ALLOW: '10.0.0.0/8, 127.0.0.1,fd00::/8' });
  t.strictSame(egress.allow, ['10.0.0.0/8', '127.0.0.1', 'fd00::/8']);
  t.strictSame(loadConfig({}).egress.allow, []);
  for (const MILLRACE_EGRESS_ALLOW of ['loopback', 'example.org', '10.0.0.0/33', '10.0.0/8', '10.0.0.0/0', '0x7f.1']) {
    t.match(issuesOf({ MILLRACE_EGRESS_ALLOW }), [
      /^MILLRACE_EGRESS_ALLOW=.*: must be comma-separated IP addresses or networks/,
    ]);
  }
});

t.test('Svix needs a URL and a token, and neither is shown', async (t) => {
  const both = { MILLRACE_SVIX_URL: 'http://svix:8071/', MILLRACE_SVIX_TOKEN: 'testsk_1' };
  t.strictSame(loadConfig(both).webhooks.svix, { url: 'http://svix:8071', token: 'testsk_1' });
  t.equal(loadConfig({}).webhooks.svix, null);
  for (const [name, value] of Object.entries(both)) {
    t.strictSame(issuesOf({ [name]: value }), ['MILLRACE_SVIX_URL and MILLRACE_SVIX_TOKEN: set both, or neither']);
  }
  for (const MILLRACE_SVIX_URL of ['svix:8071', 'ftp://svix', 'http://svix/?a=1', 'http://[bad']) {
    t.match(issuesOf({ ...both, MILLRACE_SVIX_URL }), [/^MILLRACE_SVIX_URL=…: must be/], MILLRACE_SVIX_URL);
  }
  t.match(issuesOf({ ...both, MILLRACE_SVIX_TOKEN: 'a b' }), [/^MILLRACE_SVIX_TOKEN=…: must be a token/]);
});
