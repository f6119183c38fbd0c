/** LabNetwork: proxies between the parts that faults of the network name, and the routes that lead connections through them. */
import type { Clock } from '../../../components/component-base/clock.ts'
import type { Route, SocketPlace } from '../../../components/component-base/routes.ts'
import type { HeldFault, NamedFault } from '../levers.ts'
import { cannotHold, noSuchPart } from '../no-such-part.ts'
import { concerns } from './network-rules.ts'
import type { Ends, NetworkRule } from './network-rules.ts'
import { ProxiedLink } from './proxied-link.ts'

/** Connections that one component opens to another. */
export interface Connections {
  /** The component that opens them. */
  readonly dialer: string
  readonly ends: Ends
  /** Where it finds the other. */
  readonly to: SocketPlace
}

export interface LabNetworkOptions {
  /** Those that there can be now. */
  readonly connections: () => readonly Connections[]
  /** Resolves when the component, if it runs, goes by these routes. */
  readonly setRoutes: (dialer: string, routes: readonly Route[]) => Promise<void>
  /** Real time. */
  readonly clock: Clock
}

type NetworkNamed = Extract<NamedFault, { kind: 'network' }>

const keyOf = ({ dialer, to }: Connections): string => `${dialer} ${to.host} ${to.port}`

export class LabNetwork {
  readonly #options: LabNetworkOptions
  readonly #rules: NetworkRule[] = []
  readonly #links = new Map<string, ProxiedLink>()
  /** What each dialer was told last, as JSON. */
  readonly #told = new Map<string, string>()

  constructor(options: LabNetworkOptions) {
    this.#options = options
  }

  async hold(fault: NetworkNamed): Promise<HeldFault> {
    const { name, fault: network, times } = fault
    this.#check(fault)
    const rule: NetworkRule = { name, fault: network, times, fired: 0 }
    this.#rules.push(rule)
    await this.refresh()
    return {
      fired: async () => rule.fired,
      end: async () => {
        this.#rules.splice(this.#rules.indexOf(rule), 1)
        await this.refresh()
      },
    }
  }

  /** The routes that a component has to go by. */
  routesOf(dialer: string): Route[] {
    return this.#concerned()
      .filter((one) => one.dialer === dialer)
      .flatMap((one) => {
        const link = this.#links.get(keyOf(one))
        return link === undefined ? [] : [{ to: one.to, via: link.place }]
      })
  }

  /** Opens the proxies that are needed now, and tells those components whose routes are others. */
  async refresh(): Promise<void> {
    const { rules } = { rules: () => this.#rules }
    for (const one of this.#concerned()) {
      const key = keyOf(one)
      if (this.#links.has(key)) continue
      const { clock } = this.#options
      this.#links.set(key, await ProxiedLink.open({ ends: one.ends, to: one.to, rules, clock }))
    }
    for (const link of this.#links.values()) link.look()
    const dialers = new Set([
      ...this.#told.keys(),
      ...this.#options.connections().map(({ dialer }) => dialer),
    ])
    await Promise.all([...dialers].map((dialer) => this.#tell(dialer)))
  }

  /** The component has started again: it has the routes of its environment. */
  async started(dialer: string): Promise<void> {
    this.#told.delete(dialer)
    if (this.#rules.length > 0) await this.refresh()
  }

  close(): void {
    for (const link of this.#links.values()) link.close()
    this.#links.clear()
  }

  async #tell(dialer: string): Promise<void> {
    const routes = this.routesOf(dialer)
    const text = JSON.stringify(routes)
    if ((this.#told.get(dialer) ?? '[]') === text) return
    this.#told.set(dialer, text)
    await this.#options.setRoutes(dialer, routes)
  }

  /** Connections that a rule is about. */
  #concerned(): Connections[] {
    return this.#options
      .connections()
      .filter(({ ends }) =>
        this.#rules.some(
          ({ fault }) => concerns(fault, ends, 'to-acceptor') || concerns(fault, ends, 'to-dialer'),
        ),
      )
  }

  /** Throws unless the two parts talk to each other. */
  #check(fault: NetworkNamed): void {
    const { from, to } = fault.fault
    const all = this.#options.connections()
    const parts = [...new Set(all.flatMap(({ ends }) => [...ends.dialer, ...ends.acceptor]))]
    for (const part of [from, to]) if (!parts.includes(part)) throw noSuchPart(part, parts)
    const isThere = all.some(
      ({ ends }) =>
        concerns(fault.fault, ends, 'to-acceptor') || concerns(fault.fault, ends, 'to-dialer'),
    )
    if (isThere) return
    const others = parts.filter((part) =>
      all.some(({ ends }) =>
        [
          [ends.dialer, ends.acceptor],
          [ends.acceptor, ends.dialer],
        ].some(([one, other]) => one?.includes(from) && other?.includes(part)),
      ),
    )
    throw cannotHold(
      fault,
      `${from} and ${to} do not talk to each other`,
      `${from} talks to ${others.join(', ')}`,
    )
  }
}
