/**
 * Simulation: the annotations by which pods and nodes ask a simulated node for trouble, and claims and volumes the simulated
 * storage. This is the one list of them: the node agent and the provisioner obey it, the API server warns by it, and
 * docs/simulation.md is held against it. A pod's annotation applies to all of its containers; with `.<container>` appended it
 * applies to that one.
 */
import { nearestName, parseDuration } from '../component-base/flags.ts'
import { readUsage, usageForms, type Usage } from './simulated-usage.ts'

const domain = 'skiff.dev'

/** The provisioner of storage classes whose volumes are simulated. */
export const simulatedProvisioner = `${domain}/simulated`

interface Annotation<T> {
  readonly key: string
  /** For the message about another value: `must be <values>`. */
  readonly values: string
  /** One sentence for documentation. */
  readonly effect: string
  /** Undefined for any other text. */
  readonly read: (text: string) => T | undefined
}

/** `5s`, `1m30s` or bare seconds, in milliseconds; undefined for anything else. */
export function simulatedTime(text: string): number | undefined {
  const ms = /^\d+(\.\d+)?$/.test(text) ? Number(text) * 1000 : parseDuration(text)
  return ms === undefined || ms < 0 ? undefined : ms
}

const times = 'a time such as 500ms, 5s or 1m30s'

const time = (name: string, effect: string): Annotation<number> => ({
  key: `${domain}/${name}`,
  values: times,
  effect,
  read: simulatedTime,
})

const flag = (name: string, effect: string): Annotation<boolean> => ({
  key: `${domain}/${name}`,
  values: 'true or false',
  effect,
  read: (text) => (text === 'true' || text === 'false' ? text === 'true' : undefined),
})

/** What a probe finds `ageMs` after the container's start, and in how many milliseconds that turns; undefined: never. */
type Verdict = (ageMs: number) => {
  readonly passes: boolean
  readonly turnsInMs: number | undefined
}

function readVerdict(text: string): Verdict | undefined {
  if (text === 'ok' || text === 'fail')
    return () => ({ passes: text === 'ok', turnsInMs: undefined })
  const [, word, when = ''] = /^(after|until) (\S+)$/.exec(text) ?? []
  const boundary = simulatedTime(when)
  if (boundary === undefined) return undefined
  return (ageMs) => {
    const isBefore = ageMs < boundary
    return {
      passes: isBefore === (word === 'until'),
      turnsInMs: isBefore ? boundary - ageMs : undefined,
    }
  }
}

const probe = (name: string): Annotation<Verdict> => ({
  key: `${domain}/${name}`,
  values: 'ok, fail, or after or until and a time, such as after 10s',
  effect: `The result of the ${name} probe. "after 10s" fails before 10s, "until 20s" from 20s on, counted from the start of the container.`,
  read: readVerdict,
})

function readPorts(text: string): number[] | undefined {
  const ports = text.split(',').map((port) => (/^\s*\d+\s*$/.test(port) ? Number(port) : 0))
  return ports.every((port) => port > 0 && port < 65_536) ? ports : undefined
}

const usage = (name: string, effect: string): Annotation<Usage> => ({
  key: `${domain}/${name}`,
  values: usageForms,
  effect,
  read: readUsage,
})

const ofPods = {
  exitAfter: time('exit-after', 'The container exits after this time, whatever its command does.'),
  exitCode: {
    key: `${domain}/exit-code`,
    values: 'a number from 0 to 255',
    effect: 'The exit code of a container that exits by itself. Default: 0.',
    read: (text) => (/^\d{1,3}$/.test(text) && Number(text) < 256 ? Number(text) : undefined),
  } satisfies Annotation<number>,
  startDelay: time('start-delay', 'The container takes this long to start.'),
  start: {
    key: `${domain}/start`,
    values: 'fail or image-pull-error',
    effect: 'The container cannot be created, or its image cannot be pulled.',
    read: (text) => (text === 'fail' || text === 'image-pull-error' ? text : undefined),
  } satisfies Annotation<'fail' | 'image-pull-error'>,
  stopAfter: time(
    'stop-after',
    'The container takes this long to stop. After the grace period it is killed (exit code 137).',
  ),
  logEvery: time(
    'log-every',
    'The container writes a line to its log at this interval. Default: one when it starts, one when it ends.',
  ),
  startup: probe('startup'),
  readiness: probe('readiness'),
  liveness: probe('liveness'),
  listen: {
    key: `${domain}/listen`,
    values: 'ports from 1 to 65535, with commas between them',
    effect: 'The container answers HTTP requests on these ports.',
    read: readPorts,
  } satisfies Annotation<number[]>,
  cpuUsage: usage(
    'cpu-usage',
    'The CPU that the container uses, at most its limit. Steps count from its start; an amount per request is CPU time. Default: 1m.',
  ),
  memoryUsage: usage(
    'memory-usage',
    'The memory that the container uses; above its limit it is killed (OOMKilled). Steps count from its start; an amount per request is for each request a second. Default: 8Mi.',
  ),
  checkpoint: {
    key: `${domain}/checkpoint`,
    values: `unsupported, fail, or ${times}`,
    effect: 'Checkpoints are unsupported, fail, or take this time.',
    read: (text) => (text === 'unsupported' || text === 'fail' ? text : simulatedTime(text)),
  } satisfies Annotation<'unsupported' | 'fail' | number>,
} as const

const ofNodes = {
  memoryPressure: flag(
    'memory-pressure',
    'The node has the condition MemoryPressure, and its taint.',
  ),
  diskPressure: flag('disk-pressure', 'The node has the condition DiskPressure, and its taint.'),
  pidPressure: flag('pid-pressure', 'The node has the condition PIDPressure, and its taint.'),
  runtimeDown: {
    key: `${domain}/runtime-down`,
    values: 'true, false, or a reason',
    effect: 'The container runtime is down: the node is not Ready, for this reason.',
    read: (text) => {
      if (text === 'false') return false
      return text === 'true' ? 'simulated fault' : text || undefined
    },
  } satisfies Annotation<string | false>,
} as const

/** `fail` or how long it takes. */
export type StorageWish = 'fail' | number

const storage = (name: string, effect: string): Annotation<StorageWish> => ({
  key: `${domain}/${name}`,
  values: `fail, or ${times}`,
  effect,
  read: (text) => (text === 'fail' ? text : simulatedTime(text)),
})

const ofClaims = {
  provision: storage('provision', 'Making the volume fails, or takes this long.'),
  expand: storage('expand', 'Expanding the volume fails, or takes this long.'),
} as const

const ofVolumes = {
  delete: storage('delete', 'Deleting the volume fails, or takes this long.'),
} as const

type Keys<Table> = { readonly [Name in keyof Table]: string }
type Value<One> = One extends Annotation<infer T> ? T : never

function keysOf<Table extends Readonly<Record<string, Annotation<unknown>>>>(
  table: Table,
): Keys<Table> {
  const entries = Object.entries(table).map(([name, { key }]) => [name, key])
  return Object.fromEntries(entries) as Keys<Table>
}

/** Keys of the annotations on pods. */
export const podAnnotations = keysOf(ofPods)
/** Keys of the annotations on nodes. */
export const nodeAnnotations = keysOf(ofNodes)

type Annotations = Readonly<Record<string, string>> | undefined

function valueOf<T>({ read }: Annotation<T>, text: string | undefined): T | undefined {
  return text === undefined ? undefined : read(text)
}

/** What pods and nodes can ask for, by name. */
export type PodWishes = { readonly [Name in keyof typeof ofPods]: Value<(typeof ofPods)[Name]> }
type NodeWishes = { readonly [Name in keyof typeof ofNodes]: Value<(typeof ofNodes)[Name]> }

/** What a pod asks for one of its containers: for that one, else for all. Undefined: nothing, or nothing that can be read. */
export function podWish<Name extends keyof PodWishes>(
  annotations: Annotations,
  name: Name,
  container: string,
): PodWishes[Name] | undefined {
  const annotation = ofPods[name] as unknown as Annotation<PodWishes[Name]>
  const { key } = annotation
  return (
    valueOf(annotation, annotations?.[`${key}.${container}`]) ??
    valueOf(annotation, annotations?.[key])
  )
}

/** What a node asks for. Undefined: nothing, or nothing that can be read. */
export function nodeWish<Name extends keyof NodeWishes>(
  annotations: Annotations,
  name: Name,
): NodeWishes[Name] | undefined {
  const annotation = ofNodes[name] as unknown as Annotation<NodeWishes[Name]>
  return valueOf(annotation, annotations?.[annotation.key])
}

const ofStorage = { ...ofClaims, ...ofVolumes } as const

/**
 * What a claim or volume asks of the simulated storage by its annotations, else what the class asks by a parameter of that name:
 * `provision: fail`. Undefined: nothing, or nothing that can be read.
 */
export function storageWish(
  name: keyof typeof ofStorage,
  annotations: Annotations,
  parameters: Annotations,
): StorageWish | undefined {
  const annotation = ofStorage[name]
  return (
    valueOf(annotation, annotations?.[annotation.key]) ?? valueOf(annotation, parameters?.[name])
  )
}

/** An annotation that does nothing, and why. */
export interface AnnotationFault {
  readonly key: string
  readonly why: string
}

const tables = {
  Pod: Object.values(ofPods),
  Node: Object.values(ofNodes),
  PersistentVolumeClaim: Object.values(ofClaims),
  PersistentVolume: Object.values(ofVolumes),
} as const
/** Kinds whose annotations ask for something. */
export type SimulationBearer = keyof typeof tables
const bearers = Object.keys(tables) as SimulationBearer[]
const plurals: Readonly<Record<SimulationBearer, string>> = {
  Pod: 'pods',
  Node: 'nodes',
  PersistentVolumeClaim: 'persistent volume claims',
  PersistentVolume: 'persistent volumes',
}

/** Every annotation, for documentation. */
export const simulationAnnotations = bearers.flatMap((bearer) =>
  tables[bearer].map(({ key, values, effect }) => ({ bearer, key, values, effect })),
)

/** More are not looked for: one request may carry thousands. */
const mostFaults = 20
/** Names are compared with all of these. */
const mostNames = 50

function hint(word: string, names: readonly string[]): string {
  const nearest = names.length > mostNames ? undefined : nearestName(word, names)
  return nearest === undefined ? '' : `; did you mean "${nearest}"?`
}

const shown = (text: string): string => (text.length > 60 ? `${text.slice(0, 60)}...` : text)

function faultOf(
  bearer: SimulationBearer,
  key: string,
  { value, containers }: { value: string; containers: readonly string[] },
): string | undefined {
  const end = key.indexOf('.', domain.length + 1)
  const base = end < 0 ? key : key.slice(0, end)
  const container = end < 0 ? undefined : key.slice(end + 1)
  const known = tables[bearer].find((one) => one.key === base)
  if (known === undefined) {
    const other = bearers.find((one) => tables[one].some(({ key: name }) => name === base))
    if (other !== undefined) return `this annotation is for ${plurals[other]}`
    const names = tables[bearer].map((one) => one.key)
    return `unknown annotation${hint(base, names)}`
  }
  if (container !== undefined && bearer !== 'Pod') {
    return `unknown annotation${hint(key, [known.key])}`
  }
  if (container !== undefined && !containers.includes(container)) {
    return `no container is named "${container}"${hint(container, containers)}`
  }
  if (known.read(value) !== undefined) return undefined
  return `invalid value "${shown(value)}": must be ${known.values}`
}

/** The annotations of an object that do nothing: the first 20. `containers` are the names of the pod's. */
export function annotationFaults(
  bearer: SimulationBearer,
  annotations: Annotations,
  containers: readonly string[] = [],
): AnnotationFault[] {
  const faults: AnnotationFault[] = []
  for (const key in annotations) {
    if (!key.startsWith(`${domain}/`)) continue
    const why = faultOf(bearer, key, { value: annotations[key] ?? '', containers })
    if (why !== undefined) faults.push({ key, why })
    if (faults.length === mostFaults) break
  }
  return faults
}

/** Annotations of pods among these: on anything else they do nothing. */
export function podAnnotationsAmong(annotations: Annotations): string[] {
  const found: string[] = []
  for (const key in annotations) {
    if (!key.startsWith(`${domain}/`)) continue
    if (tables.Pod.some((one) => key === one.key || key.startsWith(`${one.key}.`))) found.push(key)
    if (found.length === mostFaults) break
  }
  return found
}
