/** Which IP addresses may be called in each mode: every kind of special address, at its edges. */
import t from 'tap';
import { createAddressPolicy } from '../../src/egress/address-policy.ts';

/** The first and the last address of each range that is not public. */
const SPECIAL = [
  ['0.0.0.0', '0.255.255.255'],
  ['10.0.0.0', '10.255.255.255'],
  ['100.64.0.0', '100.127.255.255'],
  ['127.0.0.0', '127.255.255.255'],
  ['169.254.0.0', '169.254.169.254', '169.254.255.255'],
  ['172.16.0.0', '172.31.255.255'],
  ['192.0.0.0', '192.0.0.192', '192.0.0.255'],
  ['192.0.2.0', '192.0.2.255'],
  ['192.88.99.0', '192.88.99.255'],
  ['192.168.0.0', '192.168.255.255'],
  ['198.18.0.0', '198.19.255.255'],
  ['198.51.100.0', '198.51.100.255'],
  ['203.0.113.0', '203.0.113.255'],
  ['224.0.0.0', '239.255.255.255'],
  ['240.0.0.0', '255.255.255.255'],
  ['168.63.129.16'],
  // Unspecified, loopback, compatible with IPv4 (of 127.0.0.1, and of a public one) and mapped.
  ['::', '::1', '::7f00:1', '::808:808', '::ffff:127.0.0.1', '::ffff:7f00:1', '::ffff:8.8.8.8', '::ffff:0:7f00:1'],
  ['64:ff9b::7f00:1', '64:ff9b::808:808', '64:ff9b:1::1', '100::1', '5f00::1'],
  ['2001::', '2001:1ff:ffff::', '2001:db8::', '2001:db8:ffff::1', '2002:7f00:1::', '2002:808:808::', '3fff:fff::1'],
  ['fc00::', 'fd00:ec2::254', 'fdff::1', 'fe80::1', 'fe80::1%lo', 'febf::1', 'fec0::1', 'ff02::1', '4000::1'],
].flat();

/** Neighbours of these ranges, which are public. */
const PUBLIC = [
  ['1.0.0.0', '9.255.255.255', '11.0.0.0', '100.63.255.255', '100.128.0.0', '126.255.255.255', '128.0.0.0'],
  ['169.253.255.255', '169.255.0.0', '172.15.255.255', '172.32.0.0', '192.0.1.0', '192.0.3.0', '192.167.255.255'],
  ['192.169.0.0', '198.17.255.255', '198.20.0.0', '203.0.112.255', '203.0.114.0', '223.255.255.255', '168.63.129.17'],
  ['2000::1', '2001:200::1', '2001:db7::1', '2001:db9::1', '2003::1', '2606:4700:4700::1111', '3ffe::1'],
].flat();

t.test('in production public IP addresses are called over https only', async (t) => {
  const reach = createAddressPolicy('production', []);
  for (const address of SPECIAL) t.notOk(reach(address, true), address);
  for (const address of PUBLIC) {
    t.ok(reach(address, true), address);
    t.notOk(reach(address, false), `${address} by http`);
  }
});

t.test('development mode adds http and this machine, and no other network', async (t) => {
  const reach = createAddressPolicy('development', []);
  const loopback = /^127\.|^::1$/;
  for (const address of SPECIAL) t.equal(reach(address, false), loopback.test(address), address);
  for (const address of PUBLIC) t.ok(reach(address, false), address);
});

t.test('networks that the setting lists may be called, also over http', async (t) => {
  const reach = createAddressPolicy('production', ['10.1.0.0/16', '127.0.0.2', 'fd00:1::/32']);
  for (const address of ['10.1.2.3', '127.0.0.2', 'fd00:1::7']) t.ok(reach(address, false), address);
  for (const address of ['10.2.0.1', '127.0.0.1', 'fd00:2::7', '::ffff:10.1.2.3', 'fd00:1::7%lo']) {
    t.notOk(reach(address, true), address);
  }
});

t.test('the network of mapped addresses admits no IPv4 address', async (t) => {
  const reach = createAddressPolicy('production', ['::ffff:0:0/96', '::/96']);
  for (const address of ['127.0.0.1', '10.0.0.1', '169.254.169.254']) t.notOk(reach(address, true), address);
});

t.test('a text that is not an IP address is not reached', async (t) => {
  for (const text of ['', 'localhost', '127.1', '0x7f.0.0.1', '2130706433', '1.2.3', '[::1]']) {
    t.notOk(createAddressPolicy('development', [])(text, true), text);
  }
});
