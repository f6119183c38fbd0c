/** Ports: finding one that is free on an address. */
import { once } from 'node:events'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { ClusterError } from '../cluster-error.ts'

const defaultPort = 6443

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

/** Ports of that address that are free at this moment, each another one. */
export async function freePorts(address: string, count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer())
  try {
    return await Promise.all(
      servers.map(async (server) => {
        server.listen({ host: address, port: 0, exclusive: true })
        await once(server, 'listening')
        return (server.address() as AddressInfo).port
      }),
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
