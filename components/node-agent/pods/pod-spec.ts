/** Pod spec: what the agent looks up in it. */
import type { Container, Pod } from '../../api/generated/types.ts'

function allContainers(spec: Pod['spec']): Container[] {
  const { containers = [], initContainers = [], ephemeralContainers = [] } = spec ?? {}
  return [...containers, ...initContainers, ...ephemeralContainers]
}

/** The pod's container of that name, whichever of its lists it is in. */
export function containerSpecOf({ spec }: Pod, name: string): Container | undefined {
  return allContainers(spec).find((one) => one.name === name)
}

export function containerNames(spec: Pod['spec']): string[] {
  return allContainers(spec).map(({ name }) => name)
}
