/** Warnings about annotations that ask the simulation for something that it will not do. */
import { annotationFaults, type SimulationBearer } from '../../../api/simulation.ts'
import type { KubeObject } from '../../../machinery/objects/object.ts'

/** Others than who set an annotation are not warned: only new and changed ones count. */
export function simulationWarnings(
  bearer: SimulationBearer,
  { metadata }: KubeObject,
  old: KubeObject | undefined,
): string[] {
  const before = old?.metadata.annotations
  return annotationFaults(bearer, metadata.annotations)
    .filter(({ key }) => before?.[key] !== metadata.annotations?.[key])
    .map(({ key, why }) => `metadata.annotations[${key}]: ignored: ${why}`)
}
