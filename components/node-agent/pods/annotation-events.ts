/** Annotation events: tells of annotations of a pod or node that do nothing, once each for as long as they are there. */
import type { AnnotationFault } from '../../api/simulation.ts'

interface AnnotationEvent {
  readonly type: 'Warning'
  readonly reason: 'InvalidAnnotation'
  readonly message: string
}

/** Takes what is wrong now; records what is new of it. */
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
