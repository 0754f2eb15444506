import { BlockList, isIP } from 'node:net';

/** Networks whose packets never leave this machine or its own network (RFC 1122, 1918, 3927, 4193, 4291, 6598). */
const blocks: readonly (readonly [network: string, prefix: number, family: 'ipv4' | 'ipv6'])[] = [
  ['127.0.0.0', 8, 'ipv4'],
  ['10.0.0.0', 8, 'ipv4'],
  ['172.16.0.0', 12, 'ipv4'],
  ['192.168.0.0', 16, 'ipv4'],
  ['169.254.0.0', 16, 'ipv4'],
  ['100.64.0.0', 10, 'ipv4'],
  ['::1', 128, 'ipv6'],
  ['fc00::', 7, 'ipv6'],
  ['fe80::', 10, 'ipv6'],
];

const ownAddresses = new BlockList();
for (const [network, prefix, family] of blocks) ownAddresses.addSubnet(network, prefix, family);

/**
 * Names that public DNS does not have: a single label, or one under a domain that is reserved for local use. A number is
 * no label but an IPv4 address: `0` is every address of the machine.
 */
const ownName = /^(?!(?:0x[0-9a-f]*|\d+)$)[^.]+$|\.(?:localhost|local|internal|lan|home\.arpa|svc|test)$/;

/** Whether a host is this machine or in a private network of its operator. The name may end with the root's dot. */
export function isPrivateHost(host: string): boolean {
  const bare = host.replace(/^\[|\]$/g, '').toLowerCase();
  const family = isIP(bare);
  if (family !== 0) return ownAddresses.check(bare, family === 6 ? 'ipv6' : 'ipv4');
  return ownName.test(bare.replace(/\.$/, ''));
}

/** Whether requests to this URL cross other people's networks unencrypted. */
export function isForeignPlainHttp(url: string): boolean {
  const { protocol, hostname } = new URL(url);
  return protocol === 'http:' && !isPrivateHost(hostname);
}
