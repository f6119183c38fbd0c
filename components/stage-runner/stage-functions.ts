/** Functions of kwok's templates, beside those of Go and sprig. */
import { yamlOf } from '../machinery/values/yaml.ts'
import { goText } from './template/go-text.ts'
import type { TemplateFunctions } from './template/template-functions.ts'

/** What templates learn of the cluster. */
export interface StageSurroundings {
  now(): number
  /** When the runner started. */
  readonly startMs: number
  readonly version: string
  /** Addresses of a node; of no node, the default. */
  nodeAddresses(nodeName: string): readonly string[]
  /** An address for a pod, from each of its node's ranges. */
  podAddresses(nodeName: string): readonly string[]
  /** The node that a template is rendered for; '' for other kinds. */
  readonly nodeName: string
}

/** RFC 3339 with as many digits of a second as it has. */
function moment(ms: number): string {
  return new Date(ms).toISOString().replace(/\.?0*Z$/, 'Z')
}

const conditionsOfNode = [
  ['Ready', 'True', 'KubeletReady', 'kubelet is posting ready status'],
  [
    'MemoryPressure',
    'False',
    'KubeletHasSufficientMemory',
    'kubelet has sufficient memory available',
  ],
  ['DiskPressure', 'False', 'KubeletHasNoDiskPressure', 'kubelet has no disk pressure'],
  ['PIDPressure', 'False', 'KubeletHasSufficientPID', 'kubelet has sufficient PID available'],
  ['NetworkUnavailable', 'False', 'RouteCreated', 'RouteController created a route'],
].map(([type, status, reason, message]) => ({ type, status, reason, message }))

/** A JSON text of the value, or of its JSON text if that is none. */
function quoted(value: unknown): string {
  const json = JSON.stringify(value ?? null)
  return json.startsWith('"') ? json : JSON.stringify(json)
}

/** Block style; `steps` of two blanks each, then on a line of its own. */
function yaml(value: unknown, steps: unknown): string {
  const text = yamlOf(JSON.stringify(value ?? null))
  if (typeof steps !== 'number' || steps <= 0) return text
  return `\n${text}`.replaceAll('\n', `\n${'  '.repeat(Math.min(steps, 100))}`)
}

export function stageFunctions(around: StageSurroundings): TemplateFunctions {
  const nodeAddresses = (name: unknown): readonly string[] => around.nodeAddresses(goText(name))
  const podAddresses = (name: unknown, isOnHost: unknown): readonly string[] =>
    isOnHost === true ? nodeAddresses(name) : around.podAddresses(goText(name))
  return {
    Quote: quoted,
    YAML: yaml,
    Now: () => moment(around.now()),
    StartTime: () => moment(around.startMs),
    Version: () => around.version,
    NodeConditions: () => conditionsOfNode,
    NodeIP: () => around.nodeAddresses(around.nodeName)[0] ?? '',
    NodeName: () => around.nodeName,
    // No agent listens for a fake node.
    NodePort: () => 0,
    NodeIPWith: (name) => nodeAddresses(name)[0] ?? '',
    NodeIPsWith: nodeAddresses,
    PodIP: () => around.podAddresses('')[0] ?? '',
    PodIPWith: (name, isOnHost) => podAddresses(name, isOnHost)[0] ?? '',
    PodIPsWith: podAddresses,
  }
}

const nowhere: StageSurroundings = {
  now: () => 0,
  startMs: 0,
  version: '',
  nodeAddresses: () => [],
  podAddresses: () => [],
  nodeName: '',
}

export const stageFunctionNames: readonly string[] = Object.keys(stageFunctions(nowhere))
