/**
 * Routes: connections of this process that take another way than to the address they are for: through the proxy that a fault of the network
 * needs. The process that started this one says which.
 */
import type { Commands } from './commands.ts'
import type { LocalNetwork } from './local-network.ts'

export interface SocketPlace {
  readonly host: string
  readonly port: number
}

export interface Route {
  /** Whom the connection is for. */
  readonly to: SocketPlace
  /** Where it is made to instead. */
  readonly via: SocketPlace
}

/** With this environment variable a process that starts has its routes from its first connection on. */
export const routesVariable = 'SKIFF_ROUTES'

const keyOf = ({ host, port }: SocketPlace): string => `${host} ${port}`

export class Routes {
  #vias = new Map<string, SocketPlace>()
  readonly #listeners = new Set<() => void>()

  get isEmpty(): boolean {
    return this.#vias.size === 0
  }

  /** All routes from now on; none of the earlier ones stays. */
  set(routes: readonly Route[]): void {
    this.#vias = new Map(routes.map(({ to, via }) => [keyOf(to), via]))
    for (const listener of this.#listeners) listener()
  }

  /** Undefined: straight. */
  via(to: SocketPlace): SocketPlace | undefined {
    return this.#vias.get(keyOf(to))
  }

  /** Calls back when the way to there is another one. Returns what ends that. */
  onChange(to: SocketPlace, listener: () => void): () => void {
    let last = this.via(to)
    const look = (): void => {
      const next = this.via(to)
      const isSame = next?.host === last?.host && next?.port === last?.port
      last = next
      if (!isSame) listener()
    }
    this.#listeners.add(look)
    return () => void this.#listeners.delete(look)
  }
}

/** The network of a process, whose routes the command `routes` sets; `given` is the environment's text. */
export function networkOfProcess(commands: Commands, given: string | undefined): LocalNetwork {
  const routes = new Routes()
  if (given !== undefined) routes.set(JSON.parse(given) as Route[])
  commands.on('routes', async (params) => routes.set(params as Route[]))
  return { serve: () => () => {}, find: () => undefined, routes }
}
