/** node-summary: what an agent's `/stats/summary` says that is used here, checked: one node must not break the figures of others. */

export interface Usage {
  readonly cpu?: { readonly time: string; readonly usageNanoCores?: number }
  readonly memory?: { readonly workingSetBytes?: number }
}

/** The parts of upstream's Summary that are used. */
export interface NodeSummary {
  readonly node: Usage
  readonly pods?: readonly {
    readonly podRef: { readonly name: string; readonly namespace: string }
    readonly containers?: readonly (Usage & { readonly name: string })[]
  }[]
}

type Json = Readonly<Record<string, unknown>>

function objectAt(path: string, value: unknown): Json {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new Error(`${path} is not an object`)
  return value as Json
}

function listAt(path: string, value: unknown): readonly unknown[] {
  if (value === undefined || value === null) return []
  if (!Array.isArray(value)) throw new Error(`${path} is not a list`)
  return value
}

function textAt(path: string, value: unknown): string {
  if (typeof value !== 'string') throw new Error(`${path} is not a string`)
  return value
}

/** Upstream's uint64. */
function amountAt(path: string, value: unknown): number | undefined {
  if (value === undefined || value === null) return undefined
  if (!Number.isInteger(value) || Number(value) < 0 || Number(value) >= 2 ** 64)
    throw new Error(`${path} is not an amount`)
  return Number(value)
}

function usageAt(path: string, { cpu, memory }: Json): Usage {
  const usage: { -readonly [Part in keyof Usage]: Usage[Part] } = {}
  if (cpu !== undefined && cpu !== null) {
    const { time, usageNanoCores } = objectAt(`${path}.cpu`, cpu)
    const measured = textAt(`${path}.cpu.time`, time)
    if (Number.isNaN(Date.parse(measured))) throw new Error(`${path}.cpu.time is not a time`)
    const nanoCores = amountAt(`${path}.cpu.usageNanoCores`, usageNanoCores)
    usage.cpu = {
      time: measured,
      ...(nanoCores === undefined ? {} : { usageNanoCores: nanoCores }),
    }
  }
  if (memory !== undefined && memory !== null) {
    const { workingSetBytes } = objectAt(`${path}.memory`, memory)
    const bytes = amountAt(`${path}.memory.workingSetBytes`, workingSetBytes)
    usage.memory = bytes === undefined ? {} : { workingSetBytes: bytes }
  }
  return usage
}

/** Throws an error that names the field for anything that upstream's Summary cannot be. */
export function readNodeSummary(text: string): NodeSummary {
  const summary = objectAt('the summary', JSON.parse(text))
  return {
    node: usageAt('node', objectAt('node', summary['node'])),
    pods: listAt('pods', summary['pods']).map((one, at) => {
      const path = `pods[${at}]`
      const pod = objectAt(path, one)
      const { name, namespace } = objectAt(`${path}.podRef`, pod['podRef'])
      return {
        podRef: {
          name: textAt(`${path}.podRef.name`, name),
          namespace: textAt(`${path}.podRef.namespace`, namespace),
        },
        containers: listAt(`${path}.containers`, pod['containers']).map((each, index) => {
          const where = `${path}.containers[${index}]`
          const container = objectAt(where, each)
          return { name: textAt(`${where}.name`, container['name']), ...usageAt(where, container) }
        }),
      }
    }),
  }
}
