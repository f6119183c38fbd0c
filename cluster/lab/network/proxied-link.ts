/** ProxiedLink: the proxy between two parts of a cluster: a listener on the loopback interface, and its connections. */
import { createServer } from 'node:net'
import type { AddressInfo, Server, Socket } from 'node:net'
import type { SocketPlace } from '../../../components/component-base/routes.ts'
import { concerns, isSevered, isUsedUp } from './network-rules.ts'
import { ProxiedConnection } from './proxied-connection.ts'
import type { ConnectionOptions } from './proxied-connection.ts'

export interface LinkOptions extends ConnectionOptions {
  /** Where the acceptor listens. */
  readonly to: SocketPlace
}

export class ProxiedLink {
  readonly #options: LinkOptions
  readonly #server: Server
  readonly #connections = new Set<ProxiedConnection>()
  /** Where dialers find it. */
  readonly place: SocketPlace

  private constructor(options: LinkOptions, server: Server) {
    this.#options = options
    this.#server = server
    this.place = { host: '127.0.0.1', port: (server.address() as AddressInfo).port }
    server.on('connection', (client) => this.#accept(client))
    server.on('error', () => {}) // the next connection may succeed
  }

  static async open(options: LinkOptions): Promise<ProxiedLink> {
    const server = createServer({ allowHalfOpen: true, noDelay: true })
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen({ host: '127.0.0.1', port: 0 }, () => {
        server.off('error', reject)
        resolve()
      })
    })
    server.unref()
    return new ProxiedLink(options, server)
  }

  /** The rules have changed. */
  look(): void {
    for (const connection of this.#connections) connection.look()
  }

  /** Cuts everything off. */
  close(): void {
    this.#server.close()
    for (const connection of this.#connections) connection.reset()
  }

  #accept(client: Socket): void {
    const { rules, ends, to } = this.#options
    const severing = rules().find(
      (rule) =>
        isSevered(rule.fault) && !isUsedUp(rule) && concerns(rule.fault, ends, 'to-acceptor'),
    )
    if (severing !== undefined) {
      severing.fired += 1
      client.on('error', () => {}).resetAndDestroy()
      return
    }
    const connection = new ProxiedConnection(client, to, this.#options)
    this.#connections.add(connection)
    void connection.closed.then(() => this.#connections.delete(connection))
  }
}
