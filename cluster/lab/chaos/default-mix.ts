/** The mix of a chaos that names none: all that the form of the cluster can do, the mild more often than the grave. */
import type {
  RequestAction,
  RequestMatch,
} from '../../../components/component-base/request-fault.ts'
import type { FaultSpec, NetworkFault, NodeFault, ProcessFault } from '../fault-spec.ts'
import type { ChaosEntry, ChaosMix } from './chaos-mix.ts'
import type { ChaosParts } from './chaos-parts.ts'
import { anyPart } from './chaos-parts.ts'

type Taken = Omit<ChaosEntry, 'fault'>

function requests(
  action: RequestAction,
  { chance, ...match }: RequestMatch & { readonly chance?: number } = {},
  taken: Taken = {},
): ChaosEntry {
  const fault: FaultSpec = { kind: 'requests', fault: { match, action } }
  return { fault: chance === undefined ? fault : { ...fault, chance }, ...taken }
}

const toApiServer = { from: anyPart, to: 'api-server' }
const fromApiServer = { from: 'api-server', to: anyPart, direction: 'one-way' } as const
const network = (fault: NetworkFault, taken: Taken = {}): ChaosEntry => ({
  fault: { kind: 'network', fault },
  ...taken,
})
const process = (action: ProcessFault['action'], taken: Taken = {}): ChaosEntry => ({
  fault: { kind: 'process', fault: { part: anyPart, action } },
  ...taken,
})
const node = (is: NodeFault['is'], taken: Taken = {}): ChaosEntry => ({
  fault: { kind: 'node', fault: { node: anyPart, is } },
  ...taken,
})

const reads = ['get', 'list', 'watch'] as const
const short = { forMs: [2000, 15_000] } as const

const anywhere: readonly ChaosEntry[] = [
  requests({ status: { code: 503 } }, { chance: 0.2 }, { weight: 3 }),
  requests({ status: { code: 429, retryAfterSeconds: 1 } }, { chance: 0.2 }, { weight: 2 }),
  requests({ status: { code: 409 } }, { chance: 0.3, verbs: ['update', 'patch'] }, { weight: 2 }),
  requests({ status: { code: 500 } }, { chance: 0.1 }, { weight: 2 }),
  requests({ status: { code: 504 } }, { chance: 0.1 }),
  requests({ status: { code: 410 } }, { chance: 0.3, verbs: ['list', 'watch'] }),
  requests({ delayMs: 2000 }, { chance: 0.5 }, { weight: 2 }),
  requests({ cut: 'before' }, { chance: 0.2 }, { weight: 2 }),
  requests({ cut: 'during' }, { chance: 0.2 }, { weight: 2 }),
  requests({ cut: 'after' }, { chance: 0.3, verbs: ['write'] }, { weight: 2 }),
  requests({ staleMs: 30_000 }, { chance: 0.5, verbs: reads }, { weight: 2 }),
  requests({ watch: { events: 'expire' } }, {}, { weight: 2, ...short }),
  requests({ watch: { events: 'end' } }, {}, { weight: 2, ...short }),
  requests({ watch: { events: 'drop' } }, {}, { weight: 2 }),
  requests({ watch: { events: 'repeat' } }),
  requests({ watch: { delayMs: 3000 } }, {}, { weight: 2 }),
  requests({ watch: { bookmarks: 'withhold' } }),
  requests({ bytesPerSecond: 20_000 }, { chance: 0.5 }),
  { fault: { kind: 'store', fault: { full: true } }, ...short },
  { fault: { kind: 'store', fault: { fail: true } }, ...short },
  { fault: { kind: 'store', fault: { delayMs: 500 } } },
  network({ ...toApiServer, action: 'cut' }, { weight: 2 }),
  network({ ...toApiServer, direction: 'one-way', action: 'cut' }, { weight: 2 }),
  network({ ...fromApiServer, action: 'cut' }, { weight: 2 }),
  network({ ...toApiServer, action: 'half-open' }, { weight: 2 }),
  network({ ...toApiServer, action: { delayMs: 500, jitterMs: 300 } }),
  process('kill', { weight: 3 }),
  node('memory-pressure'),
  node('disk-pressure'),
  node('pid-pressure'),
  node('runtime-down', { weight: 2 }),
  node('rebooted', { weight: 2 }),
  node('disk-lost'),
]

const ofProcesses: readonly ChaosEntry[] = [
  network({ ...toApiServer, action: { loss: 0.1 } }),
  network({ ...toApiServer, action: { bytesPerSecond: 20_000 } }),
  process('freeze', { weight: 2 }),
  process('starve', short),
  process('lose-lease'),
  { fault: { kind: 'clock', fault: { part: anyPart, aheadMs: 30_000 } } },
  { fault: { kind: 'clock', fault: { part: anyPart, aheadMs: -30_000 } } },
  { fault: { kind: 'certificate', fault: { part: anyPart, is: 'expired' } } },
  { fault: { kind: 'certificate', fault: { part: anyPart, is: 'not-yet-valid' } } },
  { fault: { kind: 'certificate', fault: { part: anyPart, is: 'of-another-authority' } } },
]

export function defaultMix(form: ChaosParts['form']): ChaosMix {
  const faults = form === 'embedded' ? anywhere : [...anywhere, ...ofProcesses]
  return { everyMs: 20_000, faults }
}
