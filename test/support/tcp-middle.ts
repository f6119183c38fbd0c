/** TcpMiddle: passes bytes on to a port, until it is told to lose them. */
import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

export interface TcpMiddle {
  readonly port: number
  /** Passes nothing on any more, in either direction, on connections that are there. */
  silence(): void
  /** Passes requests on, and keeps their answers. */
  keepAnswers(): void
  /** Keeps requests, too. */
  keepRequests(): void
  /** How many bytes of requests it has kept. */
  readonly keptBytes: number
  /** Passes the kept requests on after all, even if the client has gone: as a server that hung does with what it had received. */
  passKept(): void
  /** Cuts the connections that are there; new ones pass as at the start. */
  cut(): void
  /** Cuts them and takes no new ones until `open`. */
  close(): Promise<void>
  open(): Promise<void>
}

export async function startTcpMiddle(to: number): Promise<TcpMiddle> {
  const pairs = new Set<readonly [near: Socket, far: Socket]>()
  let keptBytes = 0
  const kept: { far: Socket; chunk: Buffer }[] = []
  let drops = { requests: false, answers: false }
  const server = createServer((near) => {
    const far = connect(to, '127.0.0.1')
    const pair = [near, far] as const
    pairs.add(pair)
    const own = drops
    near.on('data', (chunk: Buffer) => {
      if (own.requests) {
        keptBytes += chunk.length
        kept.push({ far, chunk })
      } else far.write(chunk)
    })
    far.on('data', (chunk: Buffer) => {
      if (!own.answers) near.write(chunk)
    })
    for (const [socket, other] of [pair, [far, near]] as const) {
      socket.on('error', () => {}).on('end', () => other.end())
      socket.on('close', () => {
        // The server has not seen the end of a connection whose requests are kept.
        if (!kept.some((one) => one.far === other)) other.destroy()
        pairs.delete(pair)
      })
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const cut = (): void => {
    drops = { requests: false, answers: false }
    for (const [near] of pairs) near.resetAndDestroy()
  }
  return {
    port,
    get keptBytes() {
      return keptBytes
    },
    passKept: () => {
      for (const { far, chunk } of kept.splice(0)) far.write(chunk)
    },
    silence: () => Object.assign(drops, { requests: true, answers: true }),
    keepAnswers: () => Object.assign(drops, { answers: true }),
    keepRequests: () => Object.assign(drops, { requests: true }),
    cut,
    close: async () => {
      const closed = new Promise((resolve) => server.close(resolve))
      cut()
      await closed
    },
    open: async () => {
      server.listen(port, '127.0.0.1')
      await once(server, 'listening')
    },
  }
}
