/** Ports: finding one that is free on an address. */
import { once } from 'node:events'
import { createServer } from 'node:net'
import type { AddressInfo, Server } from 'node:net'
import { ClusterError } from '../cluster-error.ts'

const defaultPort = 6443
const firstEtcdPort = 2379

/** No other machine reaches it. At another address, a cluster on etcd has the load balancer through which clients reach further machines. */
export const defaultAddress = '127.0.0.1'

/**
 * Ports that a machine of several wishes for, which firewalls can name: upstream's of etcd, and those after the load balancer's for the
 * API servers behind it. At the default address, where many clusters run side by side, there is no wish.
 */
export function wishedPorts(
  { address, port }: { readonly address: string; readonly port: number },
  count: { readonly etcdMembers: number } | { readonly apiServers: number },
): number[] {
  const [first, length] =
    'apiServers' in count ? [port + 1, count.apiServers] : [firstEtcdPort, 2 * count.etcdMembers]
  return Array.from({ length }, (_, index) => {
    const wished = first + index
    return address === defaultAddress || wished === port ? 0 : wished
  })
}

/** Binds a port for a moment and returns its number; 0 lets the system choose. Rejects with the system's error. */
function tryPort(address: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen({ host: address, port, exclusive: true }, () => {
      const bound = (server.address() as AddressInfo).port
      server.close(() => resolve(bound))
    })
  })
}

async function listenAt(server: Server, address: string, port: number): Promise<number> {
  server.listen({ host: address, port, exclusive: true })
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

/** Ports of that address that are free at this moment, each another one: the wished ones, or others where they are taken; 0 is no wish. */
export async function freePorts(address: string, wished: readonly number[]): Promise<number[]> {
  const servers = wished.map(() => createServer())
  try {
    return await Promise.all(
      servers.map((server, index) =>
        listenAt(server, address, wished[index] ?? 0).catch(() => listenAt(server, address, 0)),
      ),
    )
  } finally {
    for (const server of servers) server.close()
  }
}

/** The port if it is free on that address, otherwise any other. */
export async function portOrFree(address: string, port: number): Promise<number> {
  return await tryPort(address, port).catch(() => tryPort(address, 0))
}

const anotherPort = 'choose another with --port, or omit --port for a free one'

/**
 * The wished port, which must be free; without a wish 6443, or any other when that is taken. `hint` is what to do about a
 * wished one that is taken.
 */
export async function choosePort(
  address: string,
  wished: number | undefined,
  hint = anotherPort,
): Promise<number> {
  const port = wished ?? defaultPort
  if (port < 0 || port > 65_535) {
    throw new ClusterError('usage', `invalid port ${port}: must be from 0 to 65535`, {
      hint: 'pass --port 0 for a free port',
    })
  }
  try {
    return await tryPort(address, port)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (wished === undefined && (code === 'EADDRINUSE' || code === 'EACCES')) {
      return await tryPort(address, 0)
    }
    if (code === 'EADDRINUSE') {
      throw new ClusterError('failed', `port ${port} on ${address} is in use`, {
        hint,
        cause: error,
      })
    }
    if (code === 'EACCES') {
      throw new ClusterError('permission', `permission denied to listen on port ${port}`, {
        hint: 'choose a port above 1023 with --port',
        cause: error,
      })
    }
    throw new ClusterError('failed', `cannot listen on ${address}:${port} (${code ?? 'unknown'})`, {
      hint: 'use an address of this machine',
      cause: error,
    })
  }
}
