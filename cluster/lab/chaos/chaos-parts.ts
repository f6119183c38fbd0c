/** Chaos parts: which parts of a cluster `*` in a fault of a mix stands for. Pure. */
import type { FaultSpec, Part } from '../fault-spec.ts'

/** What a chaos can break. */
export interface ChaosParts {
  readonly form: 'embedded' | 'processes'
  /** All that run. `program`: `api-server`, `node-agent` and so on. */
  readonly parts: readonly { readonly name: Part; readonly program: string }[]
}

export const anyPart: Part = '*'

const clients: readonly string[] = ['controller-manager', 'scheduler', 'node-agent']

/** The programs of which a part can have the fault. A console shows the chaos, and etcd has drills of its own. */
function programsOf(fault: FaultSpec, form: ChaosParts['form']): readonly string[] {
  switch (fault.kind) {
    case 'requests':
    case 'store':
      return []
    case 'network':
    case 'clock':
      return clients
    case 'node':
      return ['node-agent']
    case 'certificate':
      return ['api-server', ...clients]
    case 'process':
      if (fault.fault.action === 'lose-lease') return ['controller-manager', 'scheduler']
      return form === 'embedded' ? ['node-agent'] : ['api-server', 'load-balancer', ...clients]
  }
}

/** The parts that a fault names. */
export function partsNamed(fault: FaultSpec): readonly Part[] {
  switch (fault.kind) {
    case 'requests':
    case 'store':
      return []
    case 'network':
      return [fault.fault.from, fault.fault.to]
    case 'node':
      return [fault.fault.node]
    case 'process':
    case 'clock':
    case 'certificate':
      return [fault.fault.part]
  }
}

function withPart(spec: FaultSpec, part: Part): FaultSpec {
  switch (spec.kind) {
    case 'requests':
    case 'store':
      return spec
    case 'network': {
      const { from, to } = spec.fault
      const named = { from: from === anyPart ? part : from, to: to === anyPart ? part : to }
      return { ...spec, fault: { ...spec.fault, ...named } }
    }
    case 'node':
      return { ...spec, fault: { ...spec.fault, node: part } }
    case 'process':
      return { ...spec, fault: { ...spec.fault, part } }
    case 'clock':
      return { ...spec, fault: { ...spec.fault, part } }
    case 'certificate':
      return { ...spec, fault: { ...spec.fault, part } }
  }
}

/** The fault with each part that `*` stands for; itself where it has none. */
export function faultOnEachPart(fault: FaultSpec, { form, parts }: ChaosParts): FaultSpec[] {
  if (!partsNamed(fault).includes(anyPart)) return [fault]
  const programs = programsOf(fault, form)
  return parts
    .filter(({ program }) => programs.includes(program))
    .map(({ name }) => withPart(fault, name))
}

/** What a chaos can break in an embedded cluster. `programs`: its components beside the API server. */
export function partsOfEmbedded(programs: readonly string[], nodes: readonly string[]): ChaosParts {
  const components = ['api-server', ...programs].map((program) => ({ name: program, program }))
  const agents = nodes.map((name) => ({ name, program: 'node-agent' }))
  return { form: 'embedded', parts: [...components, ...agents] }
}
