/** NodeLevers: faults of machines, as their node agents obey them by the command `node-faults`. The same for both forms of a cluster. */
import type { Clock } from '../../components/component-base/clock.ts'
import type { NodeFault } from './fault-spec.ts'
import type { HeldFault, NamedFault } from './levers.ts'
import { noSuchPart } from './no-such-part.ts'

export interface NodeLeversOptions {
  readonly nodes: () => readonly string[]
  /** Resolves also when the agent does not run. */
  readonly command: (node: string, params: unknown) => Promise<void>
  readonly clock: Clock
}

/** What one node suffers. */
interface Suffered {
  readonly is: Set<NodeFault['is']>
  bootId: string | undefined
}

export class NodeLevers {
  readonly #options: NodeLeversOptions
  readonly #suffered = new Map<string, Suffered>()

  constructor(options: NodeLeversOptions) {
    this.#options = options
  }

  async hold({ fault }: Extract<NamedFault, { kind: 'node' }>): Promise<HeldFault> {
    const { nodes, clock } = this.#options
    const { node, is } = fault
    if (!nodes().includes(node)) throw noSuchPart(node, nodes())
    const suffered = this.#suffered.get(node) ?? { is: new Set(), bootId: undefined }
    this.#suffered.set(node, suffered)
    if (is === 'rebooted') {
      suffered.bootId = clock.uuid()
      await this.#tell(node, true)
      return { fired: async () => 1, end: async () => {} }
    }
    suffered.is.add(is)
    await this.#tell(node)
    return {
      fired: async () => 1,
      end: async () => {
        suffered.is.delete(is)
        await this.#tell(node)
      },
    }
  }

  /** The node's agent has started again, as on a machine that is well. */
  async started(node: string): Promise<void> {
    if (this.#suffered.has(node)) await this.#tell(node)
  }

  async #tell(node: string, boots = false): Promise<void> {
    const { is, bootId } = this.#suffered.get(node) ?? { is: [], bootId: undefined }
    const state = { is: [...is], ...(bootId === undefined ? {} : { bootId }), boots }
    await this.#options.command(node, state)
  }
}
