/** Pod spec: what the agent looks up in it. */
import type { Container, Pod } from '../api/generated/types.ts'

/** The pod's container of that name, whichever of its lists it is in. */
export function containerSpecOf(pod: Pod, name: string): Container | undefined {
  const { containers = [], initContainers = [], ephemeralContainers = [] } = pod.spec ?? {}
  return [...containers, ...initContainers, ...ephemeralContainers].find((one) => one.name === name)
}
