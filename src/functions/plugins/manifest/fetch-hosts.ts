/** The hosts that functions may fetch from, as a manifest names them. Pure. */
import { isIP } from 'node:net';

const FORM = /^(\*\.)?([a-z0-9-]+(?:\.[a-z0-9-]+)*)(?::([1-9]\d{0,4}))?$/;
const LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

/** The error in a host, as a sentence without its subject; null if valid. */
export function invalidFetchHostReason(host: string): string | null {
  const [, star, name = '', port = '443'] = FORM.exec(host) ?? [];
  if (name === '' || name.length > 253 || Number(port) > 65_535 || !name.split('.').every((one) => LABEL.test(one))) {
    return 'must be a host in lowercase, such as api.example.com, *.example.org or example.org:8443';
  }
  if (star === undefined) {
    // 1.2.3 and 0x7f.1 are other spellings of IP addresses.
    const isNumeric = /^(?:\d+|0x[0-9a-f]*)$/.test(name.slice(name.lastIndexOf('.') + 1));
    return isNumeric && isIP(name) !== 4 ? 'must be a host name or an IPv4 address' : null;
  }
  return name.includes('.') && isIP(name) === 0 ? null : 'must have at least two labels after the star';
}
