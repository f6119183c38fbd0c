/** Warnings about Pods and templates: what works but is likely a mistake, or will stop working (upstream: api/pod/warnings.go). */
import type { Dialect } from '../../../../api/dialect.ts'
import { labelKey } from '../../../../api/dialect.ts'
import type {
  Container,
  ContainerPort,
  EnvVar,
  ObjectMeta,
  PodAffinityTerm,
  PodSpec,
  PodTemplateSpec,
} from '../../../../api/generated/types.ts'
import { annotationFaults, podAnnotationsAmong } from '../../../../api/simulation.ts'
import { FieldPath } from '../../../../machinery/validation/field-path.ts'
import { goQuote } from '../../../../machinery/values/go-syntax.ts'
import type { KubeObject } from '../../../../machinery/objects/object.ts'
import { isWholeQuantity, shownQuantity } from '../../rules/quantities.ts'
import { containersOf, type PlacedContainer } from './pod-os-validation.ts'

/** Tells whether there is room for more. */
type Warn = (at: FieldPath, text: string) => boolean

/** Of one pod; far fewer fit into an answer, and pairs of ports could make millions. */
const mostWarnings = 1000

/** `at` is the path of what holds `metadata` and `spec`. */
export function podWarnings(
  { metadata, spec }: { readonly metadata?: ObjectMeta; readonly spec?: PodSpec },
  dialect: Dialect,
  at: FieldPath = FieldPath.root(),
): string[] {
  if (spec === undefined) return []
  const warnings: string[] = []
  const warn: Warn = (where, text) => {
    if (warnings.length < mostWarnings) warnings.push(`${where.toString()}: ${text}`)
    return warnings.length < mostWarnings
  }
  warnOfNodeLabels(spec, at.child('spec'), warn, dialect)
  warnOfVolumes(spec, at.child('spec'), warn)
  warnOfRepeats(spec, at.child('spec'), warn)
  warnOfAnnotations({ metadata, spec, at, warn }, dialect)
  const containers = containersOf(spec, at.child('spec'))
  warnOfSimulation(metadata?.annotations, containers, at, warn)
  for (const { container, at: containerAt } of containers) {
    warnOfFractions(container, containerAt, warn)
    warnOfHiddenVariables(container.env ?? [], containerAt.child('env'), warn)
  }
  warnOfPorts(containers, warn)
  if ((spec.terminationGracePeriodSeconds ?? 0) < 0) {
    warn(
      at.child('spec').child('terminationGracePeriodSeconds'),
      'must be >= 0; negative values are invalid and will be treated as 1',
    )
  }
  warnOfAffinities(spec, at.child('spec').child('affinity'), warn)
  return warnings
}

/** For an object with a template at a path like `spec.template`. */
export function templateWarnings(
  { metadata }: KubeObject,
  template: PodTemplateSpec | undefined,
  dialect: Dialect,
  path: readonly string[],
): string[] {
  if (!template) return []
  const at = path.reduce((parent, name) => parent.child(name), FieldPath.root())
  const misplaced = podAnnotationsAmong(metadata.annotations).map(
    (key) =>
      `metadata.annotations[${key}]: ignored: ` +
      `this annotation is for pods; set it in ${path.join('.')}.metadata.annotations`,
  )
  return [...misplaced, ...podWarnings(template, dialect, at)]
}

/** Labels of nodes that have been replaced: the old subdomain and name, since when, and what to use. */
const replacedNodeLabels = [
  { old: ['beta', 'arch'], since: '1.14', use: ['', 'arch'] },
  { old: ['beta', 'os'], since: '1.14', use: ['', 'os'] },
  { old: ['failure-domain.beta', 'region'], since: '1.17', use: ['topology', 'region'] },
  { old: ['failure-domain.beta', 'zone'], since: '1.17', use: ['topology', 'zone'] },
  { old: ['beta', 'instance-type'], since: '1.17', use: ['node', 'instance-type'] },
] as const

function nodeLabelWarning(key: string, dialect: Dialect): string | undefined {
  // Every Pod passes here: most have no key of a beta, so one test spares the others.
  if (!key.includes('beta')) return undefined
  for (const { old, since, use } of replacedNodeLabels) {
    if (key !== labelKey(dialect, old[0], old[1])) continue
    return `deprecated since v${since}; use ${goQuote(labelKey(dialect, use[0], use[1]))} instead`
  }
  return undefined
}

function warnOfNodeLabels(spec: PodSpec, at: FieldPath, warn: Warn, dialect: Dialect): void {
  for (const key in spec.nodeSelector) {
    const text = nodeLabelWarning(key, dialect)
    if (text !== undefined) warn(at.child('nodeSelector').key(key), text)
  }
  for (const [i, constraint] of (spec.topologySpreadConstraints ?? []).entries()) {
    const itemAt = at.child('topologySpreadConstraints').index(i)
    const text = nodeLabelWarning(constraint.topologyKey, dialect)
    if (text !== undefined) {
      warn(itemAt.child('topologyKey'), `${constraint.topologyKey} is ${text}`)
    }
    if (constraint.labelSelector === undefined) warn(itemAt.child('labelSelector'), selectsNothing)
  }
}

const selectsNothing = 'a null labelSelector results in matching no pod'

function warnOfAffinities(spec: PodSpec, at: FieldPath, warn: Warn): void {
  const warnOfTerm = (term: PodAffinityTerm | undefined, termAt: FieldPath) => {
    if (term?.labelSelector === undefined) warn(termAt.child('labelSelector'), selectsNothing)
  }
  for (const kind of ['podAffinity', 'podAntiAffinity'] as const) {
    const affinity = spec.affinity?.[kind]
    const required = affinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []
    const preferred = affinity?.preferredDuringSchedulingIgnoredDuringExecution ?? []
    for (const [i, term] of required.entries()) {
      warnOfTerm(
        term,
        at.child(kind).child('requiredDuringSchedulingIgnoredDuringExecution').index(i),
      )
    }
    for (const [i, { podAffinityTerm }] of preferred.entries()) {
      warnOfTerm(
        podAffinityTerm,
        at
          .child(kind)
          .child('preferredDuringSchedulingIgnoredDuringExecution')
          .index(i)
          .child('podAffinityTerm'),
      )
    }
  }
}

const volumeWarnings: Readonly<Record<string, string>> = {
  photonPersistentDisk: 'deprecated in v1.11, non-functional in v1.16+',
  gitRepo: 'deprecated in v1.11',
  scaleIO: 'deprecated in v1.16, non-functional in v1.22+',
  flocker: 'deprecated in v1.22, non-functional in v1.25+',
  storageos: 'deprecated in v1.22, non-functional in v1.25+',
  quobyte: 'deprecated in v1.22, non-functional in v1.25+',
  glusterfs: 'deprecated in v1.25, non-functional in v1.26+',
  cephfs: 'deprecated in v1.28, non-functional in v1.31+',
  rbd: 'deprecated in v1.28, non-functional in v1.31+',
}

function warnOfVolumes(spec: PodSpec, at: FieldPath, warn: Warn): void {
  for (const [i, volume] of (spec.volumes ?? []).entries()) {
    for (const field in volume) {
      const text = volumeWarnings[field]
      if (text === undefined) continue
      const spelling = field === 'storageos' ? 'storageOS' : field
      warn(at.child('volumes').index(i).child(spelling), text)
    }
  }
}

function warnOfRepeats(spec: PodSpec, at: FieldPath, warn: Warn): void {
  const addresses = new Set<string>()
  for (const [i, { ip }] of (spec.hostAliases ?? []).entries()) {
    if (addresses.has(ip)) {
      warn(at.child('hostAliases').index(i).child('ip'), `duplicate ip ${goQuote(ip)}`)
    }
    addresses.add(ip)
  }
  const secrets = new Set<string>()
  for (const [i, { name = '' }] of (spec.imagePullSecrets ?? []).entries()) {
    const nameAt = at.child('imagePullSecrets').index(i).child('name')
    if (secrets.has(name)) warn(nameAt, `duplicate name ${goQuote(name)}`)
    if (name === '') warn(nameAt, `invalid empty name ""`)
    secrets.add(name)
  }
}

/** Annotations without effect: subdomain, name, and what to say. */
const deadAnnotations = [
  {
    key: ['scheduler.alpha', 'critical-pod'],
    text: 'non-functional in v1.16+; use the "priorityClassName" field instead',
  },
  {
    key: ['security.alpha', 'sysctls'],
    text: 'non-functional in v1.11+; use the "sysctls" field instead',
  },
  {
    key: ['security.alpha', 'unsafe-sysctls'],
    text: 'non-functional in v1.11+; use the "sysctls" field instead',
  },
] as const
const seccompText = 'non-functional in v1.27+; use the "seccompProfile" field instead'

function warnOfAnnotations(
  {
    metadata,
    spec,
    at,
    warn,
  }: { metadata: ObjectMeta | undefined; spec: PodSpec; at: FieldPath; warn: Warn },
  dialect: Dialect,
): void {
  const { annotations } = metadata ?? {}
  // As above: all of them are of an alpha.
  if (annotations === undefined || !hasAlphaKey(annotations)) return
  const annotationsAt = at.child('metadata').child('annotations')
  const warnIfSet = (key: string, text: string) => {
    if (annotations[key] !== undefined) warn(annotationsAt.key(key), text)
  }
  for (const { key, text } of deadAnnotations) warnIfSet(labelKey(dialect, key[0], key[1]), text)
  if (!spec.securityContext?.seccompProfile) {
    warnIfSet(labelKey(dialect, 'seccomp.security.alpha', 'pod'), seccompText)
  }
  for (const { container } of containersOf(spec, at)) {
    if (container.securityContext?.seccompProfile) continue
    warnIfSet(labelKey(dialect, 'container.seccomp.security.alpha', container.name), seccompText)
  }
}

/** Annotations that a simulated node will not obey. */
function warnOfSimulation(
  annotations: ObjectMeta['annotations'],
  containers: readonly PlacedContainer[],
  at: FieldPath,
  warn: Warn,
): void {
  if (annotations === undefined) return
  const names = containers.map(({ container }) => container.name)
  for (const { key, why } of annotationFaults('Pod', annotations, names)) {
    warn(at.child('metadata').child('annotations').key(key), `ignored: ${why}`)
  }
}

function hasAlphaKey(annotations: Readonly<Record<string, string>>): boolean {
  for (const key in annotations) if (key.includes('.alpha.')) return true
  return false
}

function warnOfFractions(container: Container, at: FieldPath, warn: Warn): void {
  for (const list of ['limits', 'requests'] as const) {
    for (const name of ['memory', 'ephemeral-storage']) {
      const amount = container.resources?.[list]?.[name]
      if (amount === undefined || isWholeQuantity(amount)) continue
      warn(
        at.child('resources').child(list).key(name),
        `fractional byte value ${goQuote(shownQuantity(amount))} is invalid, must be an integer`,
      )
    }
  }
}

function warnOfHiddenVariables(variables: readonly EnvVar[], at: FieldPath, warn: Warn): void {
  const seen = new Set<string>()
  for (const [i, { name, value = '', valueFrom }] of variables.entries()) {
    if (!seen.has(name)) {
      seen.add(name)
      continue
    }
    const reference = `$(${name})`
    const buildsOnIt = !valueFrom && value !== reference && value.includes(reference)
    if (buildsOnIt) continue
    warn(
      at.index(i),
      `hides previous definition of ${goQuote(name)}, which may be dropped when using apply`,
    )
  }
}

interface PlacedPort {
  readonly port: ContainerPort
  readonly at: FieldPath
  readonly order: number
}

/** Ports of one number and protocol, by their port on the host. */
class PortUse {
  readonly #all: PlacedPort[] = []
  readonly #byHostPort = new Map<number, PlacedPort[]>()

  add(placed: PlacedPort): void {
    this.#all.push(placed)
    const hostPort = placed.port.hostPort ?? 0
    const list = this.#byHostPort.get(hostPort)
    if (list === undefined) this.#byHostPort.set(hostPort, [placed])
    else list.push(placed)
  }

  /** Those that could be in its way, in order: others on other ports of the host are not. */
  near({ hostPort = 0 }: ContainerPort): readonly PlacedPort[] {
    if (hostPort === 0) return this.#all
    const [same = [], unset = []] = [hostPort, 0].map((port) => this.#byHostPort.get(port))
    if (unset.length === 0) return same
    if (same.length === 0) return unset
    return [...same, ...unset].toSorted((a, b) => a.order - b.order)
  }
}

function warnOfPorts(containers: readonly PlacedContainer[], warn: Warn): void {
  const seen = new Map<string, PortUse>()
  let order = 0
  for (const { container, at: containerAt } of containers) {
    for (const [i, port] of (container.ports ?? []).entries()) {
      const portAt = containerAt.child('ports').index(i)
      const key = `${port.containerPort}/${port.protocol ?? ''}`
      const use = seen.get(key) ?? new PortUse()
      seen.set(key, use)
      for (const other of use.near(port)) {
        const relation = portRelation(port, other.port)
        if (relation === undefined) continue
        if (!warn(portAt, `${relation} port definition with ${other.at.toString()}`)) return
      }
      use.add({ port, at: portAt, order: order++ })
    }
  }
}

function portRelation(a: ContainerPort, b: ContainerPort): string | undefined {
  const [hostA, hostB] = [a.hostPort ?? 0, b.hostPort ?? 0]
  const [ipA, ipB] = [a.hostIP ?? '', b.hostIP ?? '']
  if (hostA === hostB && ipA === ipB) return 'duplicate'
  if (hostA === 0 || hostB === 0) return 'overlapping'
  if (hostA === hostB && (ipA === '') !== (ipB === '')) return 'dangerously ambiguous'
  return undefined
}
