/** Annotation events: records each annotation of a pod or node that has no effect, once for as long as it is there. */
import type { AnnotationFault } from '../../api/simulation.ts'

interface AnnotationEvent {
  readonly type: 'Warning'
  readonly reason: 'InvalidAnnotation'
  readonly message: string
}

/** Takes the current faults; records the new ones. */
export function createAnnotationEvents(
  record: (event: AnnotationEvent) => void,
): (faults: readonly AnnotationFault[]) => void {
  let told: ReadonlySet<string> = new Set()
  return (faults) => {
    const messages = new Set(faults.map(({ key, why }) => `Annotation ${key} is ignored: ${why}`))
    for (const message of messages) {
      if (!told.has(message)) record({ type: 'Warning', reason: 'InvalidAnnotation', message })
    }
    told = messages
  }
}
