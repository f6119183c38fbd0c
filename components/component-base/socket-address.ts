/** Socket addresses: how long the path of a socket can be. */

/** sockaddr_un of BSD has 104 bytes, that of Linux 108, each with the end. */
const mostBytes: Partial<Record<NodeJS.Platform, number>> = { linux: 107 }
const mostBytesOfBsd = 103

/** Whether the path is short enough for a socket. Node.js 22 listens at the beginning of a path that is too long. */
export function fitsSocketAddress(
  path: string,
  platform: NodeJS.Platform = process.platform,
): boolean {
  return Buffer.byteLength(path) <= (mostBytes[platform] ?? mostBytesOfBsd)
}
