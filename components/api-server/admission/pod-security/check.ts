/** Check: one rule about Pods, and the texts of its violations. */
import type { Container, ObjectMeta, PodSpec } from '../../../api/generated/types.ts'

/** Metadata and spec of a Pod or a template. */
export interface CheckedPod {
  readonly metadata: Pick<ObjectMeta, 'annotations'>
  readonly spec: PodSpec
  /** Annotation keys before the container's name. */
  readonly annotations: { readonly appArmor: string; readonly seccomp: string }
}

export interface Violation {
  readonly reason: string
  /** '' when the reason is enough. */
  readonly detail: string
}

export interface Check {
  readonly id: string
  /** The first minor release with the check. */
  readonly from: number
  /** A check of the lower level that this one includes. */
  readonly overrides?: string
  readonly run: (pod: CheckedPod, minor: number) => Violation | undefined
}

/** All kinds of containers: those of initialization, the Pod's own, ephemeral ones. */
export function containersOf(spec: PodSpec): readonly Container[] {
  const ephemeral = (spec.ephemeralContainers ?? []) as unknown as Container[]
  return [...(spec.initContainers ?? []), ...(spec.containers ?? []), ...ephemeral]
}

export function quoted(items: Iterable<string>): string {
  return [...items].map((item) => `"${item}"`).join(', ')
}

/** Sorted, without repeats, quoted. */
export function quotedSet(items: Iterable<string>): string {
  return quoted([...new Set(items)].toSorted())
}

export function plural(word: string, count: number): string {
  return count === 1 ? word : `${word}s`
}

/** `container "a"`, `containers "a", "b"`. */
export function containerNames(containers: readonly Pick<Container, 'name'>[]): string {
  const names = containers.map(({ name }) => name)
  return `${plural('container', names.length)} ${quoted(names)}`
}

/** The subject of a violation: the Pod, containers, or both: `pod and container "a"`. */
export function setters(isPod: boolean, containers: readonly Container[]): string[] {
  return [...(isPod ? ['pod'] : []), ...(containers.length > 0 ? [containerNames(containers)] : [])]
}
