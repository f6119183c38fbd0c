/** OperationProps: what an operation's view is about. */
import type { KubeObject } from '../../../../../components/machinery/objects/object.ts'

export interface OperationProps {
  readonly object: KubeObject
  /** Of the object in the API. */
  readonly path: string
  readonly onLeave: () => void
}
