/** Connections: a client's connections to each API server, and the name of the process behind each. */
import { createApiClient, type ApiClient } from '../support/api-client.ts'
import { serverPort, type Servers } from './servers.ts'

export class Connections implements Disposable {
  readonly #servers: Servers
  readonly #clients = new Map<string, ApiClient>()

  /** Requests take so long at most; default 2.5 s. */
  constructor(servers: Servers, timeoutMs = 2500) {
    this.#servers = servers
    for (const name of servers.names) {
      const { host } = servers.get(name)
      const { pki, issuedAtMs } = servers
      const to = { port: () => serverPort, host: host.address, timeoutMs }
      this.#clients.set(name, createApiClient({ pki, issuedAtMs, ...to }))
    }
  }

  get names(): readonly string[] {
    return this.#servers.names
  }

  /** The server's client, and its process at this moment. */
  to(which: number): { readonly api: ApiClient; readonly server: string } {
    const name = this.names[which % this.names.length] ?? ''
    const api = this.#clients.get(name)
    if (api === undefined) throw new Error(`there is no server ${name}`)
    return { api, server: this.#servers.get(name).incarnation }
  }

  /** Cuts the connections to one server. */
  cut(which: number): void {
    this.to(which).api.close()
  }

  [Symbol.dispose](): void {
    for (const client of this.#clients.values()) client.close()
  }
}
